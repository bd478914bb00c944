//! How clients outside the cluster reach a claim's APIs: under the site's domain.

use c5c3_api::Reason;
use c5c3_api::control_plane::{Compute, ControlPlaneServices, ControlPlaneStatus};
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

    /// How browsers reach the consoles of servers in another cell than the first, where the site has a domain, and the host name isn't
    /// [too long](Self::too_long).
    ///
    /// # Errors
    /// The Composition's input names no domain, or not exactly one way.
    pub fn consoles(&self, cell: &str) -> Result<Option<Exposure>, Fatal> {
        let exposure = self.exposure(&format!("{CONSOLES}{cell}"))?;
        Ok(exposure.filter(|exposure| is_domain(&exposure.hostname)))
    }

    /// The host name that the consoles of a cell can't have, because it is too long.
    ///
    /// # Errors
    /// As of [`Self::consoles`].
    pub fn too_long(&self, cell: &str) -> Result<Option<String>, Fatal> {
        let exposure = self.exposure(&format!("{CONSOLES}{cell}"))?;
        let hostname = exposure.map(|exposure| exposure.hostname);
        Ok(hostname.filter(|hostname| !is_domain(hostname)))
    }

    /// Which consoles have too long a host name, and what to do: cells keep their names, and a site may add or change its exposure later.
    ///
    /// # Errors
    /// As of [`Self::consoles`].
    pub fn unexposed_consoles(&self, compute: &Compute) -> Result<Option<String>, Fatal> {
        let mut consoles = Vec::new();
        for cell in &compute.cells {
            if let Some(hostname) = self.too_long(&cell.name)? {
                consoles.push(format!(
                    "the consoles of {} aren't exposed, since their host name {hostname} is too long",
                    cell.name
                ));
            }
        }
        Ok((!consoles.is_empty()).then(|| {
            format!(
                "{}. Cells keep their names: ask the platform team for another domain or hostNames of exposure in the Composition's input, \
                 or put the pools into cells with shorter names",
                consoles.join("; ")
            )
        }))
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

    /// Says whether clients outside the cluster reach the APIs, as the ControlPlane repeats it, and which consoles they don't reach. The claim
    /// is Ready without.
    pub fn exposed(
        &self,
        control_plane: &ControlPlaneStatus,
        unexposed_consoles: Option<String>,
        response: &mut Response,
    ) {
        let reported = condition(&control_plane.conditions, EXPOSED);
        if let Some(consoles) = unexposed_consoles {
            let said = reported.filter(|said| said.status == "False");
            let said = said.map(|said| said.message.clone());
            let sentences: Vec<String> = said.into_iter().chain([consoles]).collect();
            let message = sentences.join("; ");
            return transitions::set(response, EXPOSED, false, Reason::NotExposed, message);
        }
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
