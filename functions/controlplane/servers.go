package controlplane

import "github.com/c5c3/crossplane-cobaltcore/functions/controlplane/infrastructure"

// A cell may have its own database and queue, which its service composes. Their settings are merged with the settings of the control
// plane's own servers. They use the same issuers, so that all clients trust their certificates.

// databasesOf returns the database servers of a service.
func (m *model) databasesOf(s *serviceState) []infrastructure.DatabaseServer {
	if s.databases == nil {
		return nil
	}
	return s.databases(m, s)
}
