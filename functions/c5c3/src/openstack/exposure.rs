//! How clients outside the cluster reach a claim's APIs: under the site's domain.

use c5c3_api::Reason;
use c5c3_api::control_plane::{ControlPlaneServices, ControlPlaneStatus};
use c5c3_api::parts::Exposure;
use function_protocol::{Fatal, Response};

use super::Recipe;
use crate::observed::condition;
use crate::transitions;

/// The condition of the claim, and of its ControlPlane.
const EXPOSED: &str = "Exposed";
/// What the consoles of the first cell are called in host names. Those of another cell have its name after this.
const CONSOLES: &str = "novnc";
/// Stands in a domain for the name of the control plane cluster.
const CLUSTER: &str = "{controlPlaneCluster}";
/// The reasons for which a person has to correct something.
const WRONG: [Reason; 2] = [Reason::AnnotationNotAllowed, Reason::RefusedByKORC];

impl Recipe<'_> {
    /// Gives the API of every service, and the consoles of servers, a host name of this claim's own, where the site has a domain.
    ///
    /// # Errors
    /// The Composition's input names one host for all claims, no domain, or not exactly one way.
    pub fn expose(&self, services: &mut ControlPlaneServices) -> Result<(), Fatal> {
        let expose = |name: &str, field: &str, expose: &mut Option<Exposure>| {
            let exposure = self.exposure(name)?;
            if expose.is_some() {
                return Err(Fatal::new(format!(
                    "the Composition's input sets services.{field}, one host name for all claims: remove it, and set exposure \
                     instead"
                )));
            }
            *expose = exposure;
            Ok(())
        };
        for (name, _, overrides) in services.each_mut() {
            expose(name, &format!("{name}.expose"), &mut overrides.expose)?;
        }
        expose(CONSOLES, "nova.consoles", &mut services.nova.consoles)
    }

    /// How browsers reach the consoles of servers in another cell than the first, where the site has a domain.
    ///
    /// # Errors
    /// The Composition's input names no domain, or not exactly one way, or the host name is too long.
    pub fn consoles(&self, cell: &str) -> Result<Option<Exposure>, Fatal> {
        let exposure = self.exposure(&format!("{CONSOLES}{cell}"))?;
        match exposure {
            Some(exposure) if !is_domain(&exposure.hostname) => Err(Fatal::new(format!(
                "spec.cells: the host name {} of the consoles of {cell} is too long: give the cell a shorter name",
                exposure.hostname
            ))),
            exposure => Ok(exposure),
        }
    }

    /// What is at a host name of this claim's own, where the site has a domain.
    fn exposure(&self, name: &str) -> Result<Option<Exposure>, Fatal> {
        let Some(site) = &self.presets.exposure else {
            return Ok(None);
        };
        let claim = self.names.control_plane();
        let cluster = self.site.control_plane.name.name();
        let domain = site.domain.replace(CLUSTER, cluster);
        let is_one_way = site.gateway.is_some() != site.ingress.is_some();
        if !is_one_way || !is_domain(&format!("{claim}.{domain}")) {
            return Err(Fatal::new(format!(
                "exposure of the Composition's input needs a domain, here {:?}, and either gateway or ingress",
                site.domain
            )));
        }
        Ok(Some(Exposure {
            hostname: site.host_names.of(name, claim, &domain),
            gateway: site.gateway.clone(),
            ingress: site.ingress.clone(),
            request_timeout: site.request_timeout,
        }))
    }

    /// Says whether clients outside the cluster reach the APIs, as the ControlPlane repeats it. The claim is Ready without.
    pub fn exposed(&self, control_plane: &ControlPlaneStatus, response: &mut Response) {
        let reported = condition(&control_plane.conditions, EXPOSED);
        let (reason, message) = match (reported, &self.presets.exposure) {
            (Some(exposed), _) => {
                let is_wrong = WRONG.iter().any(|reason| exposed.reason == reason.name());
                return transitions::note(response, EXPOSED, exposed, is_wrong);
            }
            (None, Some(_)) => (
                Reason::Waiting,
                "the c5c3-operator hasn't reported whether the APIs are exposed",
            ),
            (None, None) => {
                let (reason, message) = (Reason::NotOffered, "the site exposes no APIs");
                return transitions::lapse(response, EXPOSED, None, reason, message);
            }
        };
        transitions::result(response, EXPOSED, None, reason.name(), message.to_owned());
    }
}

/// Whether a text is a domain below which the services' names fit.
fn is_domain(text: &str) -> bool {
    let is_label = |label: &str| {
        let is_plain =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let ends = !label.starts_with('-') && !label.ends_with('-');
        (1..=63).contains(&label.len()) && ends && label.bytes().all(is_plain)
    };
    text.len() <= 240 && text.split('.').all(is_label)
}
