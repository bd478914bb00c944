//! What the tenant finds on the first day: flavors, images, the external network, a network in its first project.

use c5c3_api::Reason;
use c5c3_api::control_plane::{Bootstrap, ControlPlaneStatus, Flavor, ServerImage};
use function_protocol::{Fatal, Response};

use super::Recipe;
use crate::composed::Composed;
use crate::input::Named;
use crate::observed::condition;
use crate::transitions;

/// Whether Glance has the images. Neither the control plane nor the claim waits for it.
const IMAGES_READY: &str = "ImagesReady";

impl Recipe<'_> {
    /// What the site gives the control plane, and what the claim asks for beside it.
    ///
    /// # Errors
    /// The site gives an address to two claims, or the claim's size has what the site doesn't.
    pub fn bootstrap(&self, composed: &Composed<'_>) -> Result<Bootstrap, Fatal> {
        let (claim, preset) = (&self.cluster.spec, &self.presets.bootstrap);
        let metadata = &self.cluster.metadata;
        let key = format!("{}/{}", metadata.claim_namespace(), metadata.claim_name());
        let name = claim.network.external_network.as_ref();
        let external = name.and_then(|name| Some((name, preset.external_networks.get(name)?)));
        let external = external.map(|(name, network)| network.of(name, &key));
        let site = preset.network.as_ref();
        let site = site.filter(|_| claim.services.neutron && self.access(composed).is_some());
        let (flavors, images) = (self.flavors()?, self.images()?);
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
        })
    }

    /// The site's flavors, and the claim's where the site allows them.
    fn flavors(&self) -> Result<Vec<Flavor>, Fatal> {
        let (claim, site) = (&self.cluster.spec, &self.presets.bootstrap);
        let size = self.presets.size_bootstrap(claim.size)?;
        let names = size.flavors.as_deref();
        let own = &claim.bootstrap.flavors;
        Ok(merged(&site.flavors, names, own, |_| site.allow_flavors))
    }

    /// The site's images that the size has or the claim names, and the claim's own from places that the site allows.
    fn images(&self) -> Result<Vec<ServerImage>, Fatal> {
        let (claim, site) = (&self.cluster.spec.bootstrap, &self.presets.bootstrap);
        let size = self.presets.size_bootstrap(self.cluster.spec.size)?;
        let is_allowed = |image: &ServerImage| {
            let mut sources = site.allowed_image_sources.iter();
            sources.any(|source| source.includes(&image.url))
        };
        let names = size.images.as_deref();
        let names = names.map(|names| [names, claim.site_images.as_slice()].concat());
        let own = &claim.images;
        Ok(merged(&site.images, names.as_deref(), own, is_allowed))
    }

    /// Says whether the claim gets its own flavors and images, where it asks for any.
    ///
    /// # Errors
    /// The claim's size has what the site doesn't.
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
        let images = self.images()?;
        let refused = refused_of(&asked.images, &images).map(|names| {
            format!(
                "this site has images of these names, or allows none of claims from their URLs: remove {names} from \
                 spec.bootstrap.images, or ask the platform team for bootstrap.allowedImageSources in the Composition's input"
            )
        });
        let known = &self.presets.bootstrap.images;
        let unknown = asked.site_images.iter();
        let unknown = unknown.filter(|name| known.iter().all(|image| image.name != **name));
        let unknown: Vec<&str> = unknown.map(String::as_str).collect();
        let unknown = (!unknown.is_empty()).then(|| {
            format!(
                "this site has no image {}: correct spec.bootstrap.siteImages, or ask the platform team for it in bootstrap.images of \
                 the Composition's input",
                unknown.join(", ")
            )
        });
        let problems: Vec<String> = refused.into_iter().chain(unknown).collect();
        let has_asked = !asked.images.is_empty() || !asked.site_images.is_empty();
        allowed(response, "ImagesAllowed", has_asked, &problems);
        Ok(())
    }

    /// Says what the ControlPlane says of images.
    pub fn images_ready(&self, control_plane: &ControlPlaneStatus, response: &mut Response) {
        match condition(&control_plane.conditions, IMAGES_READY) {
            Some(said) => {
                let holds = said.status == "True";
                transitions::repeat(response, IMAGES_READY, holds, said, false);
            }
            // Crossplane keeps a condition that isn't set any more.
            None if response.had_condition(IMAGES_READY) => {
                transitions::set(response, IMAGES_READY, true, Reason::Ready, String::new());
            }
            None => {}
        }
    }
}

/// The site's, as far as the size has them, and the claim's where they are allowed. A name of the site's stays the site's.
fn merged<T: Named + Clone>(
    site: &[T],
    names: Option<&[String]>,
    own: &[T],
    is_allowed: impl Fn(&T) -> bool,
) -> Vec<T> {
    let of_size = |one: &&T| names.is_none_or(|names| names.iter().any(|name| name == one.name()));
    let is_own = |one: &&T| {
        let mut site = site.iter();
        is_allowed(one) && site.all(|other| other.name() != one.name())
    };
    let site = site.iter().filter(of_size);
    site.chain(own.iter().filter(is_own)).cloned().collect()
}

/// The names of what the claim asks for and doesn't get. None where it gets all.
fn refused_of<T: Named + PartialEq>(asked: &[T], wanted: &[T]) -> Option<String> {
    let refused = asked.iter().filter(|one| !wanted.contains(one));
    let refused: Vec<&str> = refused.map(Named::name).collect();
    (!refused.is_empty()).then(|| refused.join(", "))
}

/// Says whether the control plane gets all that the claim asks for of one kind.
fn allowed(response: &mut Response, type_: &str, has_asked: bool, problems: &[String]) {
    let (holds, reason) = match problems {
        // Crossplane keeps a condition that isn't set any more.
        [] if !has_asked && !response.had_condition(type_) => return,
        [] => (true, Reason::Accepted),
        _ => (false, Reason::Unsupported),
    };
    transitions::set(response, type_, holds, reason, problems.join("; "));
}
