//! What the tenant finds on the first day: flavors, images, the external network, a network in its first project, quotas.

use c5c3_api::control_plane::{Bootstrap, ControlPlaneStatus, Flavor, ServerImage};
use c5c3_api::{Condition, Reason};
use function_protocol::{Fatal, Response};

use super::Recipe;
use crate::observed::condition;
use crate::transitions;

/// Whether Glance has the images. Neither the control plane nor the claim waits for it.
const IMAGES_READY: &str = "ImagesReady";

impl Recipe<'_> {
    /// What the site gives the control plane, and what the claim asks for beside it.
    ///
    /// # Errors
    /// The site gives an address to two claims, or the claim's size has a flavor that the site doesn't have.
    pub fn bootstrap(&self) -> Result<Bootstrap, Fatal> {
        let (claim, preset) = (&self.cluster.spec, &self.presets.bootstrap);
        let key = self.cluster.metadata.claim_path();
        let name = claim.network.external_network.as_ref();
        let external = name.and_then(|name| Some((name, preset.external_networks.get(name)?)));
        let external = external.map(|(name, network)| network.of(name, &key));
        let site = preset.network.as_ref();
        let site = site.filter(|_| claim.services.neutron && self.access().is_some());
        let (flavors, images) = (self.flavors()?, self.images()?);
        let size = self.presets.size_bootstrap(self.cluster.spec.size)?;
        Ok(Bootstrap {
            flavors: match claim.services.nova {
                true => flavors,
                false => Vec::new(),
            },
            images: match claim.services.glance {
                true => images,
                false => Vec::new(),
            },
            external_network: external.transpose()?.flatten(),
            network: claim.bootstrap.network.as_ref().or(site).cloned(),
            quotas: claim.bootstrap.quotas.or(&size.quotas),
        })
    }

    /// The site's flavors that the size has, and the claim's where the site allows them. A name of the site's stays the site's.
    fn flavors(&self) -> Result<Vec<Flavor>, Fatal> {
        let (claim, site) = (&self.cluster.spec, &self.presets.bootstrap);
        let names = &self.presets.size_bootstrap(claim.size)?.flavors;
        let is_in_size = |flavor: &&Flavor| {
            let mut names = names.iter();
            names.all(|names| names.contains(&flavor.name))
        };
        let is_own = |flavor: &&Flavor| {
            let mut others = site.flavors.iter();
            site.allow_flavors && others.all(|other| other.name != flavor.name)
        };
        let own = claim.bootstrap.flavors.iter().filter(is_own);
        let flavors = site.flavors.iter().filter(is_in_size).chain(own);
        Ok(flavors.cloned().collect())
    }

    /// The site's images that the size has or the claim names. K-ORC isn't safe from URLs that a tenant chooses, so a claim has none.
    fn images(&self) -> Result<Vec<ServerImage>, Fatal> {
        let claim = &self.cluster.spec;
        let names = &self.presets.size_bootstrap(claim.size)?.images;
        let is_wanted = |image: &&ServerImage| {
            let mut names = names.iter();
            claim.bootstrap.images.contains(&image.name)
                || names.all(|names| names.contains(&image.name))
        };
        let images = self.presets.bootstrap.images.iter().filter(is_wanted);
        Ok(images.cloned().collect())
    }

    /// Says whether the claim gets its own flavors and the images that it and its size name, where there are any.
    ///
    /// # Errors
    /// The claim's size has a flavor that the site doesn't have.
    pub fn bootstrap_allowed(&self, response: &mut Response) -> Result<(), Fatal> {
        let asked = &self.cluster.spec.bootstrap;
        let refused = refused_of(&asked.flavors, &self.flavors()?).map(|names| {
            format!(
                "this site has flavors of these names, or allows none of claims: remove {names} from spec.bootstrap.flavors, or ask \
                 the platform team for bootstrap.allowFlavors in the Composition's input"
            )
        });
        let has_asked = !asked.flavors.is_empty();
        allowed(response, "FlavorsAllowed", has_asked, refused.as_slice());
        let unknown = self.presets.bootstrap.without(&asked.images);
        let unknown = unknown.map(|names| {
            format!(
                "this site has no image {names}: remove it from spec.bootstrap.images, correct its name, or ask the platform team for it \
                 in bootstrap.images of the Composition's input"
            )
        });
        let of_size = self.presets.unknown_images(self.cluster.spec.size)?;
        let problems: Vec<String> = unknown.into_iter().chain(of_size).collect();
        allowed(
            response,
            "ImagesAllowed",
            !asked.images.is_empty(),
            &problems,
        );
        Ok(())
    }

    /// Says whether Glance has all images, and what the tenant can do. The ControlPlane's own message is for the platform team.
    pub fn images_ready(&self, control_plane: &ControlPlaneStatus, response: &mut Response) {
        match condition(&control_plane.conditions, IMAGES_READY) {
            Some(said) => {
                let holds = said.status == "True";
                let message = match holds {
                    true => String::new(),
                    false => missing_images(&said.reason).to_owned(),
                };
                let said = Condition {
                    message,
                    ..said.clone()
                };
                transitions::repeat(response, IMAGES_READY, holds, &said, false);
            }
            None => transitions::lapse(response, IMAGES_READY, Some(true), Reason::Ready, ""),
        }
    }
}

/// What a tenant can know and do where Glance lacks images, by the ControlPlane's reason.
fn missing_images(reason: &str) -> &'static str {
    if reason == Reason::RefusedByKORC.name() {
        "K-ORC gave up on an image of the site: the platform team finds why in ImagesReady of the ControlPlane. If the image is in \
         spec.bootstrap.images, remove it from the claim and add it again once it is gone, after some five minutes: K-ORC then tries again"
    } else if reason == Reason::NameTaken.name() {
        "the site changed an image that Glance has already, and the former one stays in use: ask the platform team to give the changed \
         one another name. If the image is in spec.bootstrap.images, you can also remove it from the claim"
    } else {
        "Glance doesn't have all images of the site yet: K-ORC downloads one at a time for all control planes of a cluster. If that takes \
         hours, the platform team finds why in ImagesReady of the ControlPlane"
    }
}

/// The names of the flavors that the claim asks for and doesn't get. None where it gets all.
fn refused_of(asked: &[Flavor], wanted: &[Flavor]) -> Option<String> {
    let refused = asked.iter().filter(|flavor| !wanted.contains(flavor));
    let refused: Vec<&str> = refused.map(|flavor| flavor.name.as_str()).collect();
    (!refused.is_empty()).then(|| refused.join(", "))
}

/// Says whether the control plane gets all that the claim asks for of one kind.
fn allowed(response: &mut Response, type_: &str, has_asked: bool, problems: &[String]) {
    let (holds, reason) = match problems {
        [] if !has_asked && !response.had_condition(type_) => return,
        [] => (true, Reason::Accepted),
        _ => (false, Reason::Unsupported),
    };
    transitions::set(response, type_, holds, reason, problems.join("; "));
}
