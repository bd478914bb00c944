//! Which page is asked for, by its URL. Only what is valid comes from a URL, so that nothing else gets into a link or a selector.

use form_urlencoded::{Serializer, parse};

/// A page, and what is to be on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The page.
    pub view: View,
    /// The namespace that is listed; none: all of them.
    pub namespace: Option<String>,
    /// The only table to show, by its name; none: all tables of the page.
    pub table: Option<String>,
    /// The part of that table, in the API server's words; none: the first part.
    pub next: Option<String>,
    /// The control plane whose nodes are shown; none: any.
    pub control_plane: Option<String>,
    /// Which nodes are shown; none: all of them.
    pub nodes: Option<Nodes>,
    /// Whether the page is loaded again by itself.
    pub refresh: bool,
}

/// A page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum View {
    /// Claims and control planes.
    Overview,
    /// Pools of hypervisors.
    Pools,
    /// A HypervisorCluster.
    Claim {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
    /// The HypervisorPool of the cluster, with its nodes.
    Pool {
        /// Its name.
        name: String,
    },
    /// Pools of storage.
    Storage,
}

/// Nodes of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nodes {
    /// Those that run servers of a control plane.
    Leased,
    /// Those that are taken back.
    Draining,
    /// Those without a lease.
    Unleased,
}

impl Nodes {
    pub const ALL: [Self; 3] = [Self::Leased, Self::Draining, Self::Unleased];

    pub fn name(self) -> &'static str {
        match self {
            Self::Leased => "leased",
            Self::Draining => "draining",
            Self::Unleased => "unleased",
        }
    }
}

/// Why there is no such page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The path isn't that of a page.
    NotFound,
    /// A parameter is unknown or not valid.
    Parameter(String),
}

/// The parameters that say what is on a page.
const NAMESPACE: &str = "namespace";
const TABLE: &str = "table";
const NEXT: &str = "continue";
pub const CONTROL_PLANE: &str = "control-plane";
pub const NODES: &str = "nodes";
const REFRESH: &str = "refresh";

/// The longest value of a parameter. The API server's own are below 1,000.
const LONGEST: usize = 4096;

impl Request {
    /// The page with nothing chosen.
    pub fn of(view: View) -> Self {
        Self {
            view,
            namespace: None,
            table: None,
            next: None,
            control_plane: None,
            nodes: None,
            refresh: true,
        }
    }

    /// The page of a URL.
    ///
    /// # Errors
    /// No page has this path, or a parameter is unknown or not valid.
    pub fn parse(path: &str, query: &str) -> Result<Self, Refusal> {
        let mut request = Self::of(View::of(path).ok_or(Refusal::NotFound)?);
        for (parameter, value) in parse(query.as_bytes()) {
            // A form sends what wasn't filled in as well.
            if value.is_empty() {
                continue;
            }
            let value = value.into_owned();
            let known = match &*parameter {
                NAMESPACE if is_name(&value) => request.namespace.replace(value).is_none(),
                TABLE if is_name(&value) => request.table.replace(value).is_none(),
                NEXT if value.len() <= LONGEST => request.next.replace(value).is_none(),
                CONTROL_PLANE if is_label(&value) => request.control_plane.replace(value).is_none(),
                NODES => {
                    let mut all = Nodes::ALL.into_iter();
                    request.nodes = all.find(|nodes| nodes.name() == value);
                    request.nodes.is_some()
                }
                REFRESH if value == "off" => {
                    request.refresh = false;
                    true
                }
                _ => false,
            };
            if !known {
                return Err(Refusal::Parameter(parameter.into_owned()));
            }
        }
        Ok(request)
    }

    /// The URL, without scheme and host: the same for whatever means the same.
    pub fn url(&self) -> String {
        let mut query = Serializer::new(String::new());
        let texts = [
            (NAMESPACE, self.namespace.as_deref()),
            (TABLE, self.table.as_deref()),
            (NEXT, self.next.as_deref()),
            (CONTROL_PLANE, self.control_plane.as_deref()),
            (NODES, self.nodes.map(Nodes::name)),
            (REFRESH, (!self.refresh).then_some("off")),
        ];
        for (parameter, value) in texts {
            if let Some(value) = value {
                query.append_pair(parameter, value);
            }
        }
        let path = self.view.path();
        match query.finish() {
            query if query.is_empty() => path,
            query => format!("{path}?{query}"),
        }
    }

    /// Another page, where the viewer keeps the namespace.
    pub fn to(&self, view: View) -> Self {
        Self {
            namespace: self.namespace.clone(),
            refresh: self.refresh,
            ..Self::of(view)
        }
    }
}

impl View {
    fn of(path: &str) -> Option<Self> {
        let segments: Vec<&str> = path.strip_prefix('/')?.split('/').collect();
        let name = |segment: &str| is_name(segment).then(|| segment.to_owned());
        match segments.as_slice() {
            [""] => Some(Self::Overview),
            ["pools"] => Some(Self::Pools),
            ["storage"] => Some(Self::Storage),
            ["pools", pool] => Some(Self::Pool { name: name(pool)? }),
            ["pools", namespace, claim] => Some(Self::Claim {
                namespace: name(namespace)?,
                name: name(claim)?,
            }),
            _ => None,
        }
    }

    /// The page of the navigation that it belongs to.
    pub fn section(&self) -> Self {
        match self {
            Self::Claim { .. } | Self::Pool { .. } => Self::Pools,
            page => page.clone(),
        }
    }

    /// The path of its URL.
    pub fn path(&self) -> String {
        match self {
            Self::Overview => "/".to_owned(),
            Self::Pools => "/pools".to_owned(),
            Self::Claim { namespace, name } => format!("/pools/{namespace}/{name}"),
            Self::Pool { name } => format!("/pools/{name}"),
            Self::Storage => "/storage".to_owned(),
        }
    }
}

/// Whether a text may be the name of an object (RFC 1123).
fn is_name(text: &str) -> bool {
    let inner = |byte: u8| {
        byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-' || byte == b'.'
    };
    consists_of(text, 253, inner)
}

/// Whether a text may be the value of a label.
fn is_label(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    consists_of(text, 63, inner)
}

/// Whether a text has these bytes, at most so many, and a letter or digit at both ends.
fn consists_of(text: &str, most: usize, inner: impl Fn(u8) -> bool) -> bool {
    let ends = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric());
    text.len() <= most
        && text.bytes().all(inner)
        && ends(text.bytes().next())
        && ends(text.bytes().last())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn url_is_that_of_the_request() {
        for url in [
            "/",
            "/?namespace=tenant-a&refresh=off",
            "/pools?table=hypervisor-clusters&continue=a%2Bb%3D%3D",
            "/pools/hv-pool-a?control-plane=Customer_A&nodes=draining",
            "/pools/infrastructure/hv-pool-a",
            "/storage",
        ] {
            let (path, query) = url.split_once('?').unwrap_or((url, ""));
            let request = Request::parse(path, query);
            assert_eq!(request.map(|request| request.url()), Ok(url.to_owned()));
        }
    }

    #[test]
    fn only_valid_pages_and_parameters_are_taken() {
        for path in [
            "",
            "//",
            "/pools/",
            "/pools/a/b/c",
            "/pools/..",
            "/pools/A",
            "/x",
        ] {
            assert_eq!(Request::parse(path, ""), Err(Refusal::NotFound), "{path}");
        }
        for query in [
            "namespace=a/../b",
            "namespace=a&namespace=b",
            "control-plane=a,b",
            "control-plane=a%3Db",
            "nodes=other",
            "refresh=0",
            "other=1",
        ] {
            let parameter = query.split('=').next().unwrap_or_default();
            let refusal = Refusal::Parameter(parameter.to_owned());
            assert_eq!(Request::parse("/", query), Err(refusal), "{query}");
        }
        let empty = Request::parse("/", "namespace=&nodes=");
        assert_eq!(empty, Ok(Request::of(View::Overview)));
    }
}
