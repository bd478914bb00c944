//! CredentialRotation: the new credential is in use before the old one goes.
