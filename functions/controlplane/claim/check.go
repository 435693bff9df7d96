package claim

import (
	"errors"
	"time"

	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/syntax"
)

// Check returns the errors of the claim itself, without errors of its services, of the infrastructure and of limits.
func (c *Claim) Check() error {
	return errors.Join(c.clusterErr, c.checkTLS(), c.checkRecoveryTime())
}

// CheckValues returns an error for each value of the spec that a program would reject or ignore.
func (c *Claim) CheckValues() error {
	return errors.Join(syntax.Check("spec", &c.Spec), c.checkExternalPorts(), c.checkForms())
}

// checkRecoveryTime returns an error for a date that does not exist, such as 30 February.
func (c *Claim) checkRecoveryTime() error {
	r := c.Spec.Infrastructure.MariaDB.RestoreFrom
	if r == nil {
		return nil
	}
	return CheckTime("spec.infrastructure.mariadb.restoreFrom.targetRecoveryTime", r.TargetRecoveryTime)
}

// CheckTime returns an error for text that is neither empty nor a time in RFC 3339.
func CheckTime(field, text string) error {
	if text == "" {
		return nil
	}
	if _, err := time.Parse(time.RFC3339, text); err != nil {
		return invalid.Field(field, "%s is not a valid time; set a time in UTC, such as 2026-05-01T03:00:00Z", text)
	}
	return nil
}

// checkExternalPorts returns an error if both ports of an external queue are the same.
func (c *Claim) checkExternalPorts() error {
	q := c.Spec.Infrastructure.RabbitMQ.External
	if q == nil {
		return nil
	}
	if q.Port != q.ManagementPort {
		return nil
	}
	return invalid.Field("spec.infrastructure.rabbitmq.external.managementPort",
		"cannot be the port of AMQP, which is %d too; set the port of the management API", q.Port)
}
