//! The packages as bytes, of small sources and a small program.

mod archive;
mod evidence;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use clap::Parser;
use serde_json::json;
use tempfile::TempDir;

use archive::{blob, documents, files, image, unzipped};

use super::program::StaticProgram;
use super::reference::Location;
use super::{Options, archives, configurations, function};

#[derive(Parser)]
struct CommandLine {
    #[command(flatten)]
    options: Options,
}

/// The repository's metadata with one small definition and composition for each generation.
struct Sources(TempDir);

impl Sources {
    fn new() -> Self {
        let sources = Self(tempfile::tempdir().unwrap());
        for package in [
            "function-c5c3",
            "configuration-c5c3-v1",
            "configuration-c5c3-v2",
        ] {
            let path = format!("package/{package}/crossplane.yaml");
            let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
            sources.write(&path, &fs::read_to_string(repository.join(&path)).unwrap());
        }
        sources.write(
            "package/function-c5c3/input/presets.yaml",
            "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: presets\n",
        );
        for generation in ["v1", "v2"] {
            sources.write(
                &format!("xrds/{generation}/pool.yaml"),
                &definition(generation),
            );
            sources.write(
                &format!("compositions/{generation}/pool.yaml"),
                &composition("function-c5c3"),
            );
        }
        sources
    }

    fn write(&self, path: &str, contents: &str) {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, contents).unwrap();
    }

    fn build(&self, arguments: &[&str]) -> BTreeMap<String, Vec<u8>> {
        let options = options(arguments);
        let configurations = configurations(self.0.path(), &options).unwrap();
        let function = function(self.0.path()).unwrap();
        let program = StaticProgram::parse(elf(LOAD)).unwrap();
        let built = archives(&function, &configurations, &program, &options.version).unwrap();
        built
            .into_iter()
            .map(|package| (package.name, package.archive))
            .collect()
    }

    fn refusal(&self) -> String {
        let error = configurations(self.0.path(), &options(&[]))
            .err()
            .expect("these sources are unfit");
        format!("{error:#}").replace(self.0.path().to_str().unwrap(), "")
    }
}

fn options(arguments: &[&str]) -> Options {
    CommandLine::parse_from([&["package"], arguments].concat()).options
}

fn definition(generation: &str) -> String {
    format!(
        "apiVersion: apiextensions.crossplane.io/{generation}\nkind: CompositeResourceDefinition\n\
         metadata:\n  name: pools\nspec:\n  answer: \"no\"\n"
    )
}

fn composition(function: &str) -> String {
    format!(
        "apiVersion: apiextensions.crossplane.io/v1\nkind: Composition\nmetadata:\n  name: pool\n\
         spec:\n  pipeline:\n    - step: expand\n      functionRef:\n        name: {function}\n"
    )
}

const LOAD: u8 = 1;
const LOADER: u8 = 3;

/// An x86-64 program with one program header.
fn elf(kind: u8) -> Vec<u8> {
    let mut file = vec![0; 64 + 56];
    file[..6].copy_from_slice(b"\x7fELF\x02\x01");
    file[0x12] = 0x3e;
    file[0x20] = 64;
    file[0x36] = 56;
    file[0x38] = 1;
    file[64] = kind;
    file
}

#[test]
fn the_function_package_is_also_the_image_its_pods_run() {
    let built = Sources::new().build(&["--version", "1.2.3"]);
    let archive = &built["function-c5c3"];
    let (manifest, config) = image(archive);

    assert_eq!(
        (&config["os"], &config["architecture"]),
        (&json!("linux"), &json!("amd64"))
    );
    assert_eq!(config["config"]["Entrypoint"], json!(["/c5c3", "function"]));
    assert_eq!(config["config"]["User"], "65532");
    assert_eq!(config["config"]["ExposedPorts"], json!({ "9443/tcp": {} }));
    assert_eq!(
        config["config"]["Labels"]["org.opencontainers.image.version"],
        "v1.2.3"
    );

    let program = files(&unzipped(&files(archive)[&blob(&manifest["layers"][0])].1));
    assert_eq!(
        program,
        BTreeMap::from([("c5c3".to_owned(), (0o755, elf(LOAD)))])
    );
    assert_eq!(
        documents(archive)
            .iter()
            .map(|document| &document["kind"])
            .collect::<Vec<_>>(),
        ["Function", "CustomResourceDefinition"]
    );
}

#[test]
fn the_label_for_pushing_names_the_layer_with_the_documents() {
    for archive in Sources::new().build(&[]).values() {
        let (manifest, config) = image(archive);
        let last = manifest["layers"].as_array().unwrap().last().unwrap();
        let label = format!("io.crossplane.xpkg:{}", last["digest"].as_str().unwrap());
        assert_eq!(config["config"]["Labels"][label], "base");
    }
}

#[test]
fn a_configuration_holds_itself_then_definitions_then_compositions() {
    let built = Sources::new().build(&[]);
    for (generation, name) in [
        ("v1", "configuration-c5c3-v1"),
        ("v2", "configuration-c5c3-v2"),
    ] {
        let documents = documents(&built[name]);
        let kinds: Vec<_> = documents
            .iter()
            .map(|document| document["kind"].as_str().unwrap())
            .collect();
        assert_eq!(
            kinds,
            [
                "Configuration",
                "CompositeResourceDefinition",
                "Composition"
            ]
        );
        assert_eq!(documents[0]["metadata"]["name"], name);
        assert_eq!(
            documents[1]["apiVersion"],
            format!("apiextensions.crossplane.io/{generation}")
        );
        assert_eq!(documents[1]["spec"]["answer"], "no", "a string stays one");
        assert_eq!(image(&built[name]).1["architecture"], "");
    }
}

#[test]
fn a_configuration_needs_the_function_from_where_it_is_pushed_to() {
    let arguments = [
        "--registry",
        "127.0.0.1:5000/team_a/c5c3",
        "--version",
        "v1.2.3-rc.1",
    ];
    let provider = [
        "--provider-kubernetes",
        "127.0.0.1:5000/provider-kubernetes",
    ];
    let built = Sources::new().build(&[&arguments[..], &provider].concat());
    let documents = documents(&built["configuration-c5c3-v1"]);

    let dependency = |kind: &str, package: &str, version: &str| json!({ "apiVersion": "pkg.crossplane.io/v1", "kind": kind, "package": package, "version": version });
    assert_eq!(
        documents[0]["spec"]["dependsOn"],
        json!([
            dependency("Provider", "127.0.0.1:5000/provider-kubernetes", ">=v1.2.1"),
            dependency(
                "Function",
                "127.0.0.1:5000/team_a/c5c3/function-c5c3",
                ">=v1.2.3-rc.1"
            ),
        ])
    );
    assert_eq!(
        documents[2]["spec"]["pipeline"][0]["functionRef"]["name"],
        "teama-c5c3-function-c5c3"
    );
}

#[test]
fn the_same_sources_give_the_same_bytes() {
    assert_eq!(Sources::new().build(&[]), Sources::new().build(&[]));
}

#[test]
fn unfit_sources_are_refused() {
    let sources = Sources::new();
    sources.write("compositions/v2/pool.yaml", &composition("function-other"));
    assert_eq!(
        sources.refusal(),
        "the composition \"pool\" has no step that calls function-c5c3"
    );

    sources.write("compositions/v2/pool.yaml", "");
    assert_eq!(
        sources.refusal(),
        "/compositions/v2 holds no Composition: the package needs one"
    );

    sources.write("xrds/v2/second.yaml", &definition("v2"));
    assert_eq!(
        sources.refusal(),
        "/xrds/v2/second.yaml holds a second CompositeResourceDefinition named pools"
    );

    sources.write("xrds/v1/pool.yaml", &definition("v2"));
    assert_eq!(
        sources.refusal(),
        "/xrds/v1/pool.yaml holds something else than a named CompositeResourceDefinition of apiextensions.crossplane.io/v1"
    );

    sources.write(
        "package/configuration-c5c3-v1/crossplane.yaml",
        "kind: Provider",
    );
    assert!(
        sources
            .refusal()
            .starts_with("in /package/configuration-c5c3-v1/crossplane.yaml: ")
    );
}

#[test]
fn only_static_programs_go_into_an_image() {
    let refusal = |contents: Vec<u8>| {
        StaticProgram::parse(contents)
            .err()
            .expect("it is unfit")
            .to_string()
    };
    assert_eq!(
        refusal(elf(LOADER)),
        "it asks for a dynamic loader: build it with crt-static"
    );
    assert_eq!(
        refusal(elf(LOAD)[..60].to_vec()),
        "its ELF header is cut short"
    );
    assert_eq!(
        refusal(b"#!/bin/sh".to_vec()),
        "it is not a 64-bit Linux program: build it on Linux"
    );
    let running = fs::read(std::env::current_exe().unwrap()).unwrap();
    assert_eq!(
        refusal(running),
        "it asks for a dynamic loader: build it with crt-static",
        "a test is dynamic"
    );
}

#[test]
fn a_location_is_a_registry_and_a_path() {
    let refusal = |text: &str| text.parse::<Location>().expect_err(text).to_string();
    assert!(refusal("c5c3/function-c5c3").contains("names no registry"));
    assert!(refusal("ghcr.io/openstack-control-planes/function-c5c3:v1").contains("carries a tag"));
    assert!(refusal("ghcr.io//function-c5c3").contains("is not a repository in a registry"));
    let location: Location = "xpkg.crossplane.io/crossplane-contrib/provider-kubernetes"
        .parse()
        .unwrap();
    assert_eq!(
        location.package_name(),
        "crossplane-contrib-provider-kubernetes"
    );
}
