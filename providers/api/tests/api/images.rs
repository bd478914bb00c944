//! Images of servers: what they are called, where they come from, and how their files are known.

use c5c3_api::{
    control_plane::{Checksum, DiskFormat, FileCompression, ImageUrl, ServerImage},
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
fn name_of_an_image_is_checked_as_the_api_server_checks_it() {
    let schema = schema::structural::<ServerImage>();
    let name = &schema["properties"]["name"];
    let pattern = Regex::new(name["pattern"].as_str().unwrap()).unwrap();
    let longest = usize::try_from(name["maxLength"].as_u64().unwrap()).unwrap();
    for name in [
        "debian-12",
        "rescue.iso",
        "9",
        "",
        "-a",
        "a.",
        "Debian",
        "debian 12",
        "debian_12",
        "debian-12\n",
        "ä",
        &"a".repeat(longest),
        &"a".repeat(longest + 1),
    ] {
        let image = ServerImage {
            name: name.to_owned(),
            url: "https://images.example.com/a".parse().unwrap(),
            checksum: format!("sha256:{}", "a1".repeat(32)).parse().unwrap(),
            disk_format: DiskFormat::Raw,
            compression: FileCompression::None,
            min_disk: 0,
            min_ram: 0,
        };
        let expected = pattern.is_match(name) && name.len() <= longest;
        assert_eq!(image.has_valid_name(), expected, "{name}");
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
