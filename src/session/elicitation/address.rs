//! An address an agent asks the user to open: where it really leads, and what to beware of. Nothing is opened here.

use url::{Host, Url, quirks};

/// An address on the web.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// All of it, as it would be opened: ASCII only.
    pub url: String,
    /// Where it leads.
    pub host: String,
    /// What to beware of, one line each.
    pub warnings: Vec<String>,
}

impl Address {
    /// Reads an address. Why it is none that may be opened, in one line.
    pub fn read(text: &str) -> Result<Self, String> {
        let url = Url::parse(text).map_err(|error| format!("url is no address ({error})"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(format!("url has to be https or http, not {}", url.scheme()));
        }
        let host = url.host_str().unwrap_or_default().to_owned();
        let mut warnings = Vec::new();
        if !url.username().is_empty() || url.password().is_some() {
            warnings.push(format!("what stands before @ is a user name: this leads to {host}"));
        }
        if let Some(Host::Domain(domain)) = url.host()
            && domain.split('.').any(|label| label.starts_with("xn--"))
        {
            let shown = quirks::domain_to_unicode(domain);
            warnings.push(format!("the host looks like \"{shown}\", which may imitate another"));
        }
        if url.scheme() == "http" {
            warnings.push("http: others can read and change what goes there".to_owned());
        }
        Ok(Self { url: url.into(), host, warnings })
    }
}
