//! The paths of the server. `openapi.json` describes them too; a test compares the two.

use hyper::Method;

/// A resource that can be requested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Route {
    Index,
    Icon,
    Machines,
    Records,
    Record(String),
    Page(String),
    Live,
    Metrics,
    OpenApi,
}

impl Route {
    /// Returns the route of a path; the path is compared literally, and nothing in it is decoded.
    pub fn of(path: &str) -> Option<Self> {
        match path {
            "/" => return Some(Self::Index),
            "/favicon.ico" => return Some(Self::Icon),
            "/machines" => return Some(Self::Machines),
            "/records" => return Some(Self::Records),
            "/live" => return Some(Self::Live),
            "/metrics" => return Some(Self::Metrics),
            "/openapi.json" => return Some(Self::OpenApi),
            _ => {}
        }
        let rest = path.strip_prefix("/records/")?;
        let (id, is_page) = rest.strip_suffix("/page").map_or((rest, false), |id| (id, true));
        let is_id = matches!(id.len(), 40 | 64) && id.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        is_id.then(|| if is_page { Self::Page(id.to_owned()) } else { Self::Record(id.to_owned()) })
    }

    pub fn methods(&self) -> &'static [Method] {
        match self {
            Self::Records | Self::Live => &[Method::GET, Method::POST],
            _ => &[Method::GET],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_is_a_route_or_unknown() {
        let id = "0123456789abcdef0123456789abcdef01234567";
        assert_eq!(Route::of(&format!("/records/{id}")), Some(Route::Record(id.into())));
        assert_eq!(Route::of(&format!("/records/{id}/page")), Some(Route::Page(id.into())));
        let upper = id.to_uppercase();
        for path in [
            "",
            "//",
            "/records/",
            "/machines/",
            "/records//page",
            "/Records",
            "/records/..",
            "/metrics/",
            &format!("/records/{upper}"),
        ] {
            assert_eq!(Route::of(path), None, "{path}");
        }
    }
}
