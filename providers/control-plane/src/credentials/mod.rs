//! The credentials of the services.
