//! HEAD of the routes whose answers are files: how large one is, and whether it has changed. The routes of GET
//! answer it, and so it is described from what they say of themselves.

use utoipa::openapi::header::Header;
use utoipa::openapi::path::{Operation, Parameter};
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::{OpenApi, RefOr};

/// Operations that answer with a file, and what asking about it is called.
const FILES: [(&str, &str); 2] =
    [("download_proof", "head_proof"), ("download_node_proof", "head_node_proof")];
/// A range is defined for GET alone.
const RANGES: [&str; 2] = ["range", "if-range"];
/// Answers to it.
const PARTS: [&str; 2] = ["206", "416"];

/// Adds them.
pub(super) fn add(api: &mut OpenApi) {
    for item in api.paths.paths.values_mut() {
        let Some(get) = &item.get else { continue };
        let is_file = |of: &str| get.operation_id.as_deref() == Some(of);
        if let Some(&(_, name)) = FILES.iter().find(|&&(of, _)| is_file(of)) {
            item.head = Some(head(get, name));
        }
    }
}

fn head(get: &Operation, name: &str) -> Operation {
    let mut head = get.clone();
    head.operation_id = Some(name.to_owned());
    head.summary = get.summary.as_ref().map(|summary| format!("{summary}: the headers alone"));
    head.description = Some("The length and the `etag` of the file, without the file.".to_owned());
    if let Some(parameters) = &mut head.parameters {
        parameters.retain(|parameter| !is_range(parameter));
    }
    head.responses.responses.retain(|status, _| !PARTS.contains(&status.as_str()));
    for (status, response) in &mut head.responses.responses {
        let RefOr::T(response) = response else { continue };
        // Whatever the status, there is no body.
        response.content.clear();
        if status == "200" {
            let length = Header::new(ObjectBuilder::new().schema_type(Type::Integer));
            response.headers.insert("content-length".to_owned(), RefOr::T(length));
        }
    }
    head
}

fn is_range(parameter: &RefOr<Parameter>) -> bool {
    matches!(parameter, RefOr::T(Parameter { name, .. }) if RANGES.contains(&name.as_str()))
}
