//! Ranges of addresses.

use c5c3_api::Cidr;

#[test]
fn ranges_overlap_where_they_share_an_address() {
    let cidr = |text: &str| text.parse::<Cidr>().unwrap();
    for (one, other, expected) in [
        ("10.0.0.0/8", "10.181.0.0/16", true),
        ("10.181.0.0/16", "10.0.0.0/8", true),
        ("10.181.0.0/17", "10.181.128.0/17", false),
        ("0.0.0.0/0", "255.255.255.255/32", true),
    ] {
        assert_eq!(cidr(one).overlaps(cidr(other)), expected, "{one} {other}");
    }
}

#[test]
fn range_is_divided_into_blocks() {
    let cidr = |text: &str| text.parse::<Cidr>().unwrap();
    for (length, index, expected) in [
        (20, 0, "10.128.0.0/20"),
        (20, 1023, "10.191.240.0/20"),
        (20, 1024, "10.128.0.0/20"),
        (8, 3, "10.128.0.0/10"),
        (33, 3, "10.128.0.0/10"),
        (32, u64::MAX, "10.191.255.255/32"),
    ] {
        assert_eq!(cidr("10.128.0.0/10").block(length, index), cidr(expected));
    }
}

#[test]
fn text_that_is_not_a_range_says_what_to_write() {
    for text in ["10.0.0.1/8", "10.0.0.0", "10.0.0.0/33", "300.0.0.0/8"] {
        assert_eq!(
            text.parse::<Cidr>().unwrap_err().to_string(),
            format!(
                "{text:?} is not a range of IPv4 addresses: write its first address and the length of its prefix, for \
                 instance 10.180.0.0/16"
            )
        );
    }
}
