package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/c5c3/crossplane-cobaltcore/functions/kinds"
	"github.com/c5c3/crossplane-cobaltcore/internal/doctor/live"
	"github.com/c5c3/crossplane-cobaltcore/internal/livecloud"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/input"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/plan"
	"github.com/c5c3/crossplane-cobaltcore/internal/terminal"
)

// clusterTimeout is the maximum duration of all requests for the claims, and of all requests for their objects.
const clusterTimeout = 2 * time.Minute

// readCluster reads the existing claims from a cluster. A claim that is not in -f does not change.
func (c *planCommand) readCluster(in io.Reader, errOut io.Writer) (edition, error) {
	claims, platforms, err := c.side(c.File, in, errOut)
	if err != nil {
		return edition{}, err
	}
	given, err := c.platform(in)
	if err != nil {
		return edition{}, err
	}
	platforms = append(platforms, given...)
	r, _, err := live.Connect(live.Options{Kubeconfig: c.Kubeconfig, Context: c.Context, Alternative: "--current", Now: time.Now})
	if err != nil {
		return edition{}, &livecloud.ReadError{Subject: "--kubeconfig", Problem: err.Error()}
	}
	options := livecloud.Options{Namespace: c.Namespace, HasPlatform: len(platforms) > 0}
	if len(c.File) > 0 {
		options.Edited = planInput(claims, input.Document{}).Claims
	}
	ctx, cancel := context.WithTimeout(context.Background(), clusterTimeout)
	defer cancel()
	cloud, err := livecloud.Read(ctx, r, options)
	if err != nil {
		return edition{}, err
	}
	for _, note := range cloud.Notes {
		fmt.Fprintln(errOut, "note: "+terminal.Escape(note))
	}
	e := edition{
		before: plan.Input{Claims: cloud.Claims, Platform: cloud.Platform},
		after:  plan.Input{Claims: planInput(claims, input.Document{}).Claims, Platform: cloud.Platform},
		drift:  func() ([]plan.Drift, error) { return nil, nil },
	}
	for _, d := range cloud.Claims {
		if !slices.ContainsFunc(e.after.Claims, func(edited plan.Document) bool { return edited.Identity == d.Identity }) {
			e.after.Claims = append(e.after.Claims, d)
		}
	}
	sortClaims(e.before.Claims)
	sortClaims(e.after.Claims)
	if len(platforms) > 0 {
		one, err := onePlatform(platforms, errOut)
		if err != nil {
			return edition{}, err
		}
		data, err := cloud.WithClusters(one.Data)
		if err != nil {
			return edition{}, err
		}
		e.after.Platform = plan.Document{File: one.File, Data: data}
	}
	if e.before.Platform.Data == nil {
		e.before.Platform = e.after.Platform
	}
	if c.Drift && c.FunctionVersion == "" {
		e.drift = func() ([]plan.Drift, error) { return clusterDrift(cloud, e.before.Platform) }
	}
	return e, nil
}

// clusterDrift returns the drift of a cloud with a PlatformConfig.
func clusterDrift(cloud *livecloud.Cloud, platform plan.Document) ([]plan.Drift, error) {
	config := map[string]any{}
	if err := yaml.Unmarshal(platform.Data, &config); err != nil {
		return nil, fmt.Errorf("cannot read the PlatformConfig: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), clusterTimeout)
	defer cancel()
	return cloud.Drift(ctx, kinds.Runners(), config)
}

// sortClaims sorts claims in the order of references.
func sortClaims(claims []plan.Document) {
	slices.SortStableFunc(claims, func(a, b plan.Document) int {
		return cmp.Compare(slices.Index(referencedKinds, a.Kind), slices.Index(referencedKinds, b.Kind))
	})
}
