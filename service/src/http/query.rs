//! Query parameters, each known and given as often as it may be.

use axum::http::Uri;

use super::error::ApiError;
use crate::api::ProblemKind;

/// The parameters of one request.
#[derive(Debug)]
pub(super) struct Query {
    pairs: Vec<(String, String)>,
}

impl Query {
    /// Reads the query of `uri`, in which only `known` names may occur.
    ///
    /// # Errors
    /// The first name that is not known.
    pub(super) fn of(uri: &Uri, known: &[&str]) -> Result<Self, ApiError> {
        let text = uri.query().unwrap_or_default();
        let pairs: Vec<_> = form_urlencoded::parse(text.as_bytes()).into_owned().collect();
        if let Some((name, _)) = pairs.iter().find(|(name, _)| !known.contains(&name.as_str())) {
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            let detail = format!("there is no query parameter \"{name}\" here; known: {known}");
            return Err(refuse(name, detail));
        }
        Ok(Self { pairs })
    }

    /// Every value of a parameter.
    pub(super) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.pairs.iter().filter(move |(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    /// The value of a parameter that may be given once.
    ///
    /// # Errors
    /// It is given twice.
    pub(super) fn one<'a>(&'a self, name: &'a str) -> Result<Option<&'a str>, ApiError> {
        let mut values = self.all(name);
        let first = values.next();
        match values.next() {
            None => Ok(first),
            Some(_) => Err(refuse(name, format!("\"{name}\" is given more than once"))),
        }
    }

    /// A whole number within bounds.
    ///
    /// # Errors
    /// It is given twice, is no whole number, or out of bounds.
    pub(super) fn number(
        &self,
        name: &str,
        bounds: std::ops::RangeInclusive<i64>,
    ) -> Result<Option<i64>, ApiError> {
        let Some(text) = self.one(name)? else { return Ok(None) };
        match text.parse() {
            Ok(value) if bounds.contains(&value) => Ok(Some(value)),
            _ => {
                let (least, most) = bounds.into_inner();
                Err(refuse(name, format!("\"{name}\" must be a whole number, {least} to {most}")))
            }
        }
    }
}

/// A parameter is refused.
pub(super) fn refuse(name: &str, detail: String) -> ApiError {
    ApiError::new(ProblemKind::InvalidQuery, detail).field(name.to_owned())
}
