"""Keystone makes its policy with the first request, and meanwhile refuses those of other threads: make it before."""

from keystone.common.rbac_enforcer.enforcer import RBACEnforcer

RBACEnforcer()._enforcer.load_rules()
