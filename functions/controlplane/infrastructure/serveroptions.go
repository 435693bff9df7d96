package infrastructure

import (
	"errors"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/mariadb"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/rabbitmq"
)

// serverOptions are the options of the third-party servers, formatted as the servers read them, by name.
type serverOptions struct {
	Database, queue map[string]common.ServerOption
}

// formatServerOptions returns the options that a claim sets. Errors are invalid.Spec errors, joined.
//
// A server that is external or disabled has none. The definition cannot reject these: CEL rules have no access to fields with untyped
// values.
func formatServerOptions(i controlplanev1.Infrastructure) (serverOptions, error) {
	const databaseField, queueField = "spec.infrastructure.mariadb.config", "spec.infrastructure.rabbitmq.config"
	var errs []error
	if i.MariaDB.External != nil && len(i.MariaDB.Config) > 0 {
		errs = append(errs, invalid.Field(databaseField, "cannot be set for an external database; set the options in that server, and "+
			"remove them here"))
	}
	if i.RabbitMQ.External != nil && len(i.RabbitMQ.Config) > 0 {
		errs = append(errs, invalid.Field(queueField, "cannot be set for an external queue; set the options in that server, and remove "+
			"them here"))
	}
	if !*i.RabbitMQ.Enabled && len(i.RabbitMQ.Config) > 0 {
		errs = append(errs, invalid.Field(queueField, "cannot be set while the queue is disabled; remove it, or set "+
			"infrastructure.rabbitmq.enabled to true"))
	}
	database, databaseErr := mariadb.Options.Format(i.MariaDB.Config, databaseField)
	queue, queueErr := rabbitmq.Options.Format(i.RabbitMQ.Config, queueField)
	return serverOptions{database, queue}, errors.Join(append(errs, databaseErr, queueErr)...)
}
