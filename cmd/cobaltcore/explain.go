package main

import (
	"io"
	"strings"

	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/explain"
)

type explainCommand struct {
	Name string `arg:"" help:"Field, such as spec.size or HypervisorCluster.spec.nodeSelector, condition, reason, or alert." name:"name"`
}

// Run describes a field, a condition, a reason or an alert.
func (c *explainCommand) Run(out io.Writer) error {
	text, err := explain.Runbook(c.Name)
	if err != nil {
		return err
	}
	if text == "" {
		text = explain.Reason(c.Name)
	}
	if text == "" {
		kind, field, _ := strings.Cut(c.Name, ".")
		if kind == "spec" || kind == "status" {
			kind, field = controlplanev1.GroupVersionKind.Kind, c.Name
		}
		if text, err = explain.Field(kind, field); err != nil {
			return errUsage(err.Error())
		}
	}
	_, err = io.WriteString(out, text)
	return err
}
