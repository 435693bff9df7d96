package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/test/node/podaccess"
)

func TestProbedTable(t *testing.T) {
	long := strings.Fields(strings.Repeat("server ", maxCellLength+1))
	kinds := []podaccess.Kind{
		{Pods: "Deployment a", Servers: []string{"mariadb 3306", "x|y 1"}},
		{Pods: "Deployment b", Servers: []string{"mariadb 3306", "x|y 1"}},
		{Pods: "Deployment c"},
		{Pods: "Deployment d", Servers: long},
	}
	got := probedTable(kinds, "Reaches", func(k podaccess.Kind) []string { return k.Servers }).rows
	want := [][]string{
		{"`Deployment a`; `Deployment b`", `mariadb 3306; x\|y 1`},
		{"`Deployment d`", strings.Join(long[:maxCellLength], "; ")},
		{"`Deployment d`", "server"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
