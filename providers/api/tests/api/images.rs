//! Images of servers: where they may come from, and how their files are known.

use c5c3_api::{
    control_plane::{Checksum, ImageSource, ImageUrl},
    schema,
};
use regex::Regex;

/// What the API server takes as the URL of an image.
fn rule() -> Regex {
    let schema = schema::structural::<ImageUrl>();
    let rule = schema["x-kubernetes-validations"][0]["rule"]
        .as_str()
        .unwrap();
    let pattern = rule.strip_prefix("self.matches('").unwrap();
    Regex::new(pattern.strip_suffix("')").unwrap()).unwrap()
}

#[test]
fn url_of_an_image_is_read_as_the_api_server_takes_it() {
    let rule = rule();
    for url in [
        "https://images.example.com/debian-12.qcow2",
        "https://images.example.com:8443/debian/12+1/a_b~c=d,e.raw.xz",
        "https://192.0.2.7/image",
    ] {
        assert!(url.parse::<ImageUrl>().is_ok(), "{url}");
        assert!(rule.is_match(url), "{url}");
    }
    for url in [
        "",
        "http://images.example.com/a",
        "https://images.example.com",
        "https://images.example.com/",
        "https://images.example.com/a/",
        "https://images.example.com//a",
        "https://Images.example.com/a",
        "https://images.example.com./a",
        "https://user@images.example.com/a",
        "https://user:12345@images.example.com/a",
        "https://images.example.com:/a",
        "https://images.example.com:123456/a",
        "https://images.example.com/a?signature=b",
        "https://images.example.com/a#b",
        "https://images.example.com/a/../b",
        "https://images.example.com/./a",
        "https://images.example.com/%2e%2e/a",
        "https://images.example.com/a b",
        "https://[2001:db8::1]/a",
        "https:///a",
    ] {
        assert!(url.parse::<ImageUrl>().is_err(), "{url}");
        assert!(!rule.is_match(url), "{url}");
    }
}

#[test]
fn url_of_an_image_that_is_refused_stays_out_of_the_message() {
    let error = "https://user:s3cret@images.example.com/a".parse::<ImageUrl>();
    assert_eq!(
        error.unwrap_err().to_string(),
        "an image's URL is not valid: write https://, a host in lower case and a path, without user, password, query and percent \
         sign, for instance https://images.example.com/debian-12.qcow2"
    );
}

#[test]
fn place_of_images_includes_what_is_below_it_and_nothing_else() {
    for (source, url, expected) in [
        ("https://a.example.com", "https://a.example.com/b", true),
        ("https://a.example.com/", "https://a.example.com/b/c", true),
        ("https://a.example.com/b", "https://a.example.com/b/c", true),
        (
            "https://a.example.com/b/",
            "https://a.example.com/b/c",
            true,
        ),
        ("https://a.example.com/b", "https://a.example.com/b", false),
        (
            "https://a.example.com/b",
            "https://a.example.com/bc/d",
            false,
        ),
        (
            "https://a.example.com",
            "https://a.example.com.evil/b",
            false,
        ),
        (
            "https://a.example.com",
            "https://a.example.com:8443/b",
            false,
        ),
        (
            "https://a.example.com:8443",
            "https://a.example.com/b",
            false,
        ),
        ("https://example.com", "https://a.example.com/b", false),
    ] {
        let source: ImageSource = source.parse().unwrap();
        let url = url.parse().unwrap();
        assert_eq!(source.includes(&url), expected, "{source:?} {url:?}");
    }
    for source in [
        "http://a",
        "https://",
        "https://a/../b",
        "https://u:p@a",
        "*",
    ] {
        assert!(source.parse::<ImageSource>().is_err(), "{source}");
    }
}

#[test]
fn checksum_has_the_length_of_its_algorithm() {
    let schema = schema::structural::<Checksum>();
    let pattern = Regex::new(schema["pattern"].as_str().unwrap()).unwrap();
    let [short, long] = [64, 128].map(|digits| "a1".repeat(digits / 2));
    for text in [format!("sha256:{short}"), format!("sha512:{long}")] {
        let checksum: Checksum = text.parse().unwrap();
        assert_eq!(checksum.to_string(), text);
        let (algorithm, value) = text.split_once(':').unwrap();
        assert_eq!([checksum.algorithm(), checksum.value()], [algorithm, value]);
        assert!(pattern.is_match(&text), "{text}");
    }
    for text in [
        format!("sha256:{long}"),
        format!("sha512:{short}"),
        format!("sha256:{}", short.to_uppercase()),
        format!("md5:{}", "a1".repeat(16)),
        short,
    ] {
        assert!(text.parse::<Checksum>().is_err(), "{text}");
        assert!(!pattern.is_match(&text), "{text}");
    }
}
