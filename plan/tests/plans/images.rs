//! Images that a site gives a control plane.

use crate::given::{CLAIM, claim, condition, site, written};

/// What a site adds to the Composition's input.
const SITE: &str = "
bootstrap:
  images:
    - name: debian-12
      url: https://images.example.com/debian-12.raw
      checksum: sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
      diskFormat: raw
    - name: fedora-43
      url: https://images.example.com/fedora-43.qcow2
      checksum: sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
      diskFormat: qcow2
";

/// What the claim adds.
const OWN: &str = "
  bootstrap: {images: [debian-12]}
";

#[test]
fn images_of_the_site_are_created() {
    let plan = written(&format!("{CLAIM}{OWN}"), &site(SITE)).unwrap();
    let planned = claim(&plan, "tenant/cloud");
    assert_eq!(planned.phase(), "Ready", "{:?}", planned.conditions);
    assert_eq!(condition(planned, "ImagesAllowed"), ("True", "Accepted"));
    assert_eq!(condition(planned, "ImagesReady"), ("True", "Ready"));
    let applied = plan.applied.iter();
    let images = applied.filter(|applied| applied.manifest.kind() == "Image");
    let images: Vec<&str> = images.map(|applied| applied.manifest.name()).collect();
    assert_eq!(images, ["debian-12", "fedora-43"]);
}
