//! Options of users: secrets among them, and values of several lines.

use super::*;
use crate::config::Config;

#[rstest::rstest]
#[case("profiler", "hmac_keys", "hush", true)]
#[case("profiler", "enabled", "true", false)]
fn a_secret_that_a_user_adds_is_kept_as_one(
    #[case] section: &str,
    #[case] option: &str,
    #[case] value: &str,
    #[case] secret: bool,
) {
    let options = BTreeMap::from([(option.to_owned(), value.to_owned())]);
    let common = Common {
        extra_config: ExtraConfig(BTreeMap::from([(section.to_owned(), options)])),
        ..Common::default()
    };
    let extra = Extra::of(
        "glance",
        &[],
        Release::new(2026, 1),
        &common,
        Ok(Secrets::new()),
    );
    let mut config = Config::default();
    config.merge(&extra.unwrap_or_else(|failure| panic!("{failure}")));
    assert_eq!(config.is_secret(), secret);
    assert_eq!(config.masked().contains(value), !secret);
}

#[rstest::rstest]
#[case("pci", "alias", "{\"name\":\"a\"}\n{\"name\":\"b\"}\n", &["{\"name\":\"a\"}", "{\"name\":\"b\"}"])]
#[case("pci", "alias", "\n a \n\n  \nb\n\n", &["a", "b"])]
#[case("pci", "alias", "", &[""])]
#[case("filter_scheduler", "enabled_filters", "ComputeFilter,PciPassthroughFilter\n", &["ComputeFilter,PciPassthroughFilter"])]
#[case("api", "max_limit", "10\n", &["10"])]
fn extra_option_has_a_line_for_each_value_and_no_empty_one(
    #[case] section: &str,
    #[case] option: &str,
    #[case] value: &str,
    #[case] lines: &[&str],
) {
    let options = BTreeMap::from([(option.to_owned(), value.to_owned())]);
    let sections = BTreeMap::from([(section.to_owned(), options)]);
    let release = Release::new(2026, 1);
    let written = |common: &Common, secrets: Secrets| {
        let extra = Extra::of("nova", &[], release, common, Ok(secrets));
        let mut config = Config::default();
        config.merge(&extra.unwrap_or_else(|failure| panic!("{failure}")));
        config.text().unwrap_or_else(|failure| panic!("{failure}"))
    };
    let lines = lines.iter().map(|line| format!("{option} = {line}"));
    let lines: Vec<_> = lines.map(|line| line.trim_end().to_owned()).collect();
    let expected = format!("[{section}]\n{}\n", lines.join("\n"));
    let common = Common {
        extra_config: ExtraConfig(sections.clone()),
        ..Common::default()
    };
    assert_eq!(written(&common, Secrets::new()), expected);
    assert_eq!(written(&Common::default(), sections), expected);
}
