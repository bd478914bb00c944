"""What the OpenStack services of this environment read, by their own option objects.

    options.py describe      options and policy rules of every service, as JSON
    options.py check         reads [{"service", "text"}, ...] and answers with what is wrong in each, as JSON
"""

import argparse
import copy
import functools
import json
import logging
import multiprocessing
import os
import re
import sys
import tempfile
import warnings

# Whatever is said on the way belongs to stderr: stdout is the answer.
answer, sys.stdout = sys.stdout, sys.stderr
warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)

from keystoneauth1 import loading  # noqa: E402
from oslo_config import cfg, generator, iniparser, types  # noqa: E402
from stevedore import extension  # noqa: E402

# What each service loads, by the names under which its libraries list their options. It is what the services give their
# own sample files (etc/oslo-config-generator of each), without what only tools of theirs read.
MIDDLEWARE = ["oslo.middleware.cors", "oslo.middleware.http_proxy_to_wsgi"]
NAMESPACES = {
    "cinder": [
        "castellan.config",
        "cinder",
        "keystonemiddleware.auth_token",
        "os_brick",
        "oslo.concurrency",
        "oslo.db",
        "oslo.log",
        "oslo.messaging",
        "oslo.middleware",
        "oslo.policy",
        "oslo.privsep",
        "oslo.reports",
        "oslo.service.periodic_task",
        "oslo.service.service",
        "oslo.service.sslutils",
        "oslo.service.wsgi",
        "oslo.versionedobjects",
        "osprofiler",
    ],
    "keystone": [
        "keystone",
        "oslo.cache",
        "oslo.db",
        "oslo.log",
        "oslo.messaging",
        "oslo.middleware",
        "oslo.policy",
        "osprofiler",
    ],
    "glance": [
        "castellan.config",
        "glance",
        "glance.api",
        "glance.store",
        "keystonemiddleware.auth_token",
        "oslo.concurrency",
        "oslo.db",
        "oslo.limit",
        "oslo.log",
        "oslo.messaging",
        "oslo.middleware.healthcheck",
        "oslo.policy",
        "oslo.reports",
        "osprofiler",
        *MIDDLEWARE,
    ],
    "neutron": [
        "designate.auth",
        "ironic.auth",
        "keystonemiddleware.auth_token",
        "neutron",
        "neutron.agent",
        "neutron.db",
        "neutron.experimental",
        "neutron.extensions",
        "neutron.ml2",
        "neutron.ml2.ovn",
        "nova.auth",
        "oslo.cache",
        "oslo.concurrency",
        "oslo.db",
        "oslo.log",
        "oslo.messaging",
        "oslo.middleware.healthcheck",
        "oslo.policy",
        "oslo.reports",
        "oslo.service.periodic_task",
        "oslo.service.service",
        "oslo.versionedobjects",
        "osprofiler",
        "placement.auth",
        *MIDDLEWARE,
    ],
    "nova": [
        "keystonemiddleware.auth_token",
        "nova.conf",
        "os_brick",
        "os_vif",
        "oslo.cache",
        "oslo.concurrency",
        "oslo.limit",
        "oslo.log",
        "oslo.messaging",
        "oslo.middleware",
        "oslo.policy",
        "oslo.privsep",
        "oslo.reports",
        "oslo.service.periodic_task",
        "oslo.service.service",
        "oslo.versionedobjects",
        "osprofiler",
    ],
    "placement": [
        "keystonemiddleware.auth_token",
        "oslo.log",
        "oslo.policy",
        "osprofiler",
        "placement.conf",
        *MIDDLEWARE,
    ],
}

# The same of programs on nodes, whose files only operators write.
AGENTS = {
    "neutron-ovn-agent": [
        "neutron",
        "neutron.agent",
        "neutron.ml2.ovn.agent",
        "oslo.concurrency",
        "oslo.log",
    ],
}

# Sections of nova-compute's privileged helpers: each has the options that oslo.privsep lists under a name of its own.
PRIVILEGED = ["nova_sys_admin", "privsep_osbrick", "vif_plug_ovs_privileged"]

# The same of Cinder's programs.
PRIVILEGED_CINDER = ["cinder_sys_admin", "privsep_osbrick"]

# A capability of Linux by name or number (oslo_privsep.priv_context.CapNameOrInt).
CAPABILITY = "like(^([Cc][Aa][Pp]_[A-Za-z_]+|-?[0-9]+)$)"

# Stores that Glance has for itself (glance.common.wsgi.RESERVED_STORES).
RESERVED_STORES = {"os_glance_tasks_store": "file", "os_glance_staging_store": "file"}


@functools.cache
def listed(service):
    """Every option by section and name, as the libraries list them."""
    if service == "glance":
        # Glance's images have no os-brick, without which there is no store in Cinder.
        sys.modules["os_brick"] = None
    options = {}
    for _, groups in generator._list_opts((NAMESPACES | AGENTS)[service]):
        for group, of_group in groups:
            section = options.setdefault(getattr(group, "name", group) or "DEFAULT", {})
            for option in of_group:
                section.setdefault(option.dest, option)
    if service == "neutron-ovn-agent":
        # Before 2026.1 the agent reads this and doesn't list it.
        from neutron.conf.agent import agent_extensions_manager

        for option in agent_extensions_manager.AGENT_EXT_MANAGER_OPTS:
            options["agent"].setdefault(option.dest, option)
    if service == "cinder":
        # Backends are in Ceph: the drivers of other storage aren't offered.
        from cinder.volume import driver, manager
        from cinder.volume.drivers import rbd

        read = driver.volume_opts + driver.image_opts + driver.backup_opts + manager.volume_backend_opts + rbd.RBD_OPTS
        for example in ("backend", "brcd_fabric_example", "cisco_fabric_example", "fc-zone-manager"):
            del options[example]
        options["backend_defaults"] = {option.dest: option for option in read}
        options |= {section: options["privsep"] for section in PRIVILEGED_CINDER}
        # Which Cinder reads and doesn't list.
        for option in loading.get_auth_common_conf_options():
            options["service_user"].setdefault(option.dest, option)
    if service == "nova":
        options |= {section: options["privsep"] for section in PRIVILEGED}
    return options


def plugins():
    """The names of every way to authenticate, but for that of Cinder's client, which only the client takes."""
    return sorted(loading.get_available_plugin_names() - {"noauth"})


@functools.cache
def of_plugins():
    """The names of all options of every way to authenticate."""
    return {option.dest for name in plugins() for option in loading.get_auth_plugin_conf_options(name)}


def with_plugins(options):
    """The same, with what any way to authenticate reads where one can be chosen."""
    for name, section in options.items():
        if "auth_type" in section and name != "DEFAULT":
            for plugin in plugins():
                for option in loading.get_auth_plugin_conf_options(plugin):
                    section.setdefault(option.dest, option)
    return options


def old_names(section, option):
    """Where else the value of an option is looked for."""
    names = {(old.group or section, (old.name or option.dest).replace("-", "_")) for old in option.deprecated_opts}
    return sorted(names - {(section, option.dest)})


def kind(option):
    """The type of an option's values in one word; see providers/openstack/options."""
    many = "many:" if option.multi else ""
    return many + word(option.type)


def word(type_):
    choices = getattr(type_, "choices", None)
    if choices:
        known = [str(choice) for choice in choices if choice is not None]
        assert not any(set(choice) & set(" |()") for choice in known), known
        if isinstance(type_, types.Number):
            # As if it weren't given.
            known.append("")
        return ("any-case" if getattr(type_, "ignore_case", False) else "one") + "(" + "|".join(known) + ")"
    if isinstance(type_, types.Integer) and type(type_).__module__ != types.__name__:
        # A service's own type, which takes some of the numbers.
        return "one(" + "|".join(str(number) for number in range(type_.min, type_.max + 1) if takes(type_, number)) + ")"
    if isinstance(type_, types.Number):
        low, high = ("" if bound is None else f"{bound:g}" if isinstance(bound, float) else str(bound) for bound in (type_.min, type_.max))
        name = "int" if type_.num_type is int else "float"
        return f"{name}({low}..{high})" if low or high else name
    if isinstance(type_, types.List):
        return ("brackets(" if type_.bounds else "list(") + word(type_.item_type) + ")"
    if isinstance(type_, types.Dict):
        assert not type_.bounds
        return f"dict({word(type_.value_type)})"
    if isinstance(type_, types.Boolean) or type_ is bool:
        return "bool"
    if isinstance(type_, types.HostAddress):
        return "host"
    if isinstance(type_, types.IPAddress):
        assert type_.version_checker == type_._check_both_versions
        return "ip"
    if isinstance(type_, types.URI):
        return "uri(" + "|".join(type_.schemes or []) + ")"
    if type(type_).__name__ == "UnifiedLimitsResource":
        # A resource of Nova's own, or a class of Placement's (nova.conf.quota).
        own = sorted(name for name in type_.resources if not name.startswith("class:"))
        return "like(^(class:[A-Z0-9_]+|" + "|".join(own) + ")$)"
    if isinstance(type_, types.String) or type_ is str:
        regex = getattr(type_, "regex", None)
        if not regex:
            return "text"
        prefixes = re.fullmatch(r"\^\(([a-z|]+)\):\.\+", regex.pattern)
        if prefixes:
            return "scheme(" + prefixes[1] + ")"
        assert " " not in regex.pattern, regex.pattern
        return f"like({regex.pattern})"
    if getattr(type_, "__name__", type(type_).__name__) == "CapNameOrInt":
        return CAPABILITY
    if type_ in (int, float):
        return type_.__name__
    raise AssertionError(f"{type_!r} is a type that nobody has described yet")


def takes(type_, value):
    try:
        type_(value)
    except ValueError:
        return False
    return True


def rules(service):
    """Every policy rule."""
    named = extension.ExtensionManager("oslo.policy.policies", invoke_on_load=True)
    return sorted({rule.name for policies in named if policies.name == service for rule in policies.obj})


def described(service):
    options = []
    for section, of_section in sorted(with_plugins(listed(service)).items()):
        for name, option in sorted(of_section.items()):
            # What the command line alone takes, and the sample sections of stores: their own names are the user's.
            if isinstance(option, (cfg._ConfigFileOpt, cfg._ConfigDirOpt)) or section.startswith("glance.store."):
                continue
            options.append(
                {
                    "section": section,
                    "option": name,
                    "kind": kind(option),
                    "secret": bool(option.secret),
                    "deprecated": bool(option.deprecated_for_removal),
                    "old": old_names(section, option),
                }
            )
    return {"options": options, "rules": rules(service)}


def read(service, path):
    """A file as the service reads it, with the option objects of what it chooses: stores, ways to authenticate."""
    conf = cfg.ConfigOpts()
    for section, options in listed(service).items():
        if not section.startswith("glance.store."):
            # Nova and Neutron list what some ways to authenticate read, where the one that is chosen registers its own.
            chosen = "auth_type" in options and options["auth_type"] in loading.get_auth_common_conf_options()
            for option in options.values():
                if chosen and option.dest in of_plugins():
                    continue
                option = copy.copy(option)
                option.required = False
                conf.register_opt(option, group=None if section == "DEFAULT" else section)
    conf(args=[], default_config_files=[path], default_config_dirs=[])
    faults = []
    if service == "glance":
        from glance_store import driver, multi_backend

        try:
            if conf.enabled_backends:
                multi_backend.register_store_opts(conf, reserved_stores=RESERVED_STORES)
                # What each store registers besides, once it is made.
                for store in conf.enabled_backends:
                    conf.register_opts(driver._MULTI_BACKEND_OPTS, group=store)
        except cfg.ConfigFileValueError as error:
            faults.append(fault("DEFAULT", "enabled_backends", "value", error))
    if service == "cinder":
        for backend in conf.enabled_backends or []:
            conf.register_opts(listed(service)["backend_defaults"].values(), group=backend)
    for section, options in list(conf._groups.items()):
        if "auth_type" not in options._opts:
            continue
        # Neutron registers all of these, and lists some.
        for option in loading.get_auth_common_conf_options():
            if option.dest not in options._opts:
                conf.register_opt(option, group=section)
        try:
            if conf[section].auth_type:
                loading.load_auth_from_conf_options(conf, section)
        except Exception as error:
            faults.append(fault(section, "auth_type", "auth", error))
    return conf, faults


def fault(section, option, what, message=""):
    return {"section": section, "option": option, "what": what, "message": " ".join(str(message).split())}


def registered(conf):
    sections = {"DEFAULT": conf._opts, **{name: group._opts for name, group in conf._groups.items()}}
    return {name: {dest: entry["opt"] for dest, entry in options.items()} for name, options in sections.items()}


def check(service, text):
    """Everything that is wrong in a file."""
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as file:
        file.write(text)
        file.flush()
        try:
            given = {}
            cfg.ConfigParser(file.name, given).parse()
            conf, faults = read(service, file.name)
        except (cfg.Error, iniparser.ParseError) as error:
            return [fault("", "", "file", error)]
    known = registered(conf)
    before = {
        old: f"[{section}] {option.dest}"
        for section, options in known.items()
        for option in options.values()
        for old in old_names(section, option)
    }
    for section, options in given.items():
        for name, values in options.items():
            option = known.get(section, {}).get(name)
            if option is None:
                now = before.get((section, name))
                faults.append(fault(section, name, "renamed" if now else "unknown", now or ""))
                continue
            if len(values) > 1 and not option.multi:
                faults.append(fault(section, name, "value", "it takes one value"))
            if option.deprecated_for_removal:
                faults.append(fault(section, name, "deprecated", option.deprecated_reason or ""))
            try:
                conf[name] if section == "DEFAULT" else conf[section][name]
            except Exception as error:
                faults.append(fault(section, name, "value", error))
    return faults


def apart(function, arguments):
    """Calls a function in a process of its own: two services may register different options under one name."""
    with multiprocessing.get_context("fork").Pool(1) as process:
        return process.map(function, arguments)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=["describe", "check"])
    if parser.parse_args().command == "describe":
        out = {service: apart(described, [service])[0] for service in NAMESPACES}
    else:
        asked = json.load(sys.stdin)
        found = {}
        for service in sorted({file["service"] for file in asked}):
            texts = [file["text"] for file in asked if file["service"] == service]
            found[service] = iter(apart(functools.partial(check, service), texts))
        out = [next(found[file["service"]]) for file in asked]
    json.dump(out, answer, sort_keys=True)
    answer.flush()
    # Some libraries leave threads behind that nobody needs any more.
    os._exit(0)


main()
