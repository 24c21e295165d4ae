//! Where messages may go.

use std::net::{IpAddr, Ipv4Addr};

use ipnet::IpNet;

use crate::config::WebhooksConfig;
use crate::outbound::{Target, is_public};

/// Ports below are given out to protocols; what listens there is no receiver, and may be made to do something by
/// what it takes for its own language.
const FIRST_FREE_PORT: u16 = 1024;

/// Where messages may go.
#[derive(Clone, Debug)]
pub struct Destinations {
    allow_http: bool,
    allow_private: bool,
    allowed: Vec<IpNet>,
}

impl Destinations {
    /// As configured.
    #[must_use]
    pub fn new(config: &WebhooksConfig) -> Self {
        Self {
            allow_http: config.allow_http,
            allow_private: config.allow_private,
            allowed: config.allow_addresses.clone(),
        }
    }

    /// Whether an address may be connected to.
    #[must_use]
    pub fn may_ask(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.allow_private
            || is_public(address)
            || self.allowed.iter().any(|network| network.contains(&address))
    }

    /// Takes a URL apart that messages may go to, as far as it tells. What its name resolves to is checked
    /// whenever a message is sent.
    ///
    /// # Errors
    /// Why they may not, in words.
    pub fn check(&self, url: &str) -> Result<Target, String> {
        let target = Target::parse(url).map_err(|error| error.to_string())?;
        if !target.is_secure() && !self.allow_http {
            return Err("not https (webhooks.allow_http would let it pass)".to_owned());
        }
        if target.port() < FIRST_FREE_PORT
            && ![80, 443].contains(&target.port())
            && !self.allow_private
        {
            return Err(format!(
                "port {} is one of another protocol: expected 80, 443 or at least {FIRST_FREE_PORT}",
                target.port()
            ));
        }
        // Names that are this machine's own by definition (RFC 6761).
        let name = target.receiver();
        let local = name == "localhost" || name.ends_with(".localhost");
        let local = local.then_some(IpAddr::from(Ipv4Addr::LOCALHOST));
        if target.literal().or(local).is_some_and(|ip| !self.may_ask(ip)) {
            return Err("the address is not one of the open internet (webhooks.allow_private and \
                        webhooks.allow_addresses would let it pass)"
                .to_owned());
        }
        Ok(target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(config: &WebhooksConfig, url: &str) -> bool {
        Destinations::new(config).check(url).is_ok()
    }

    #[test]
    fn inner_networks_and_open_text_must_be_allowed() {
        let closed = WebhooksConfig::default();
        let http = WebhooksConfig { allow_http: true, ..closed.clone() };
        let some = "10.1.0.0/16".parse().expect("a network");
        let listed = WebhooksConfig { allow_addresses: vec![some], ..closed.clone() };
        let private = WebhooksConfig { allow_private: true, ..closed.clone() };
        assert!(check(&closed, "https://example.org/hook"));
        assert!(!check(&closed, "http://example.org/hook") && check(&http, "http://example.org/"));
        for inner in
            ["https://127.0.0.1/", "https://[::1]/", "https://169.254.169.254/", "https://0/"]
                .into_iter()
                .chain(["https://localhost/", "https://x.localhost/", "https://localhost./"])
        {
            assert!(!check(&closed, inner) && !check(&listed, inner), "{inner}");
            assert!(check(&private, inner), "{inner}");
        }
        for port in ["25", "22", "1", "0", "1023"] {
            assert!(!check(&http, &format!("http://example.org:{port}/")), "{port}");
        }
        for port in ["80", "443", "1024", "8443"] {
            assert!(check(&http, &format!("http://example.org:{port}/")), "{port}");
        }
        assert!(check(&listed, "https://10.1.2.3/") && !check(&listed, "https://10.2.2.3/"));
        assert!(check(&listed, "https://[::ffff:10.1.2.3]/"));
    }
}
