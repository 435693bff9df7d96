package apis_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/c5c3/crossplane-cobaltcore/apis"
	keystoneservicev1 "github.com/c5c3/crossplane-cobaltcore/apis/keystoneservice/v1alpha1"
)

const inCatalog = `{type: metering, name: ceilometer, endpoints: {public: "https://a.example.com", internal: "https://a.b.svc:8777/v1"}}`

// alsoInCatalog is another place.
const alsoInCatalog = `{type: s3, name: objects, endpoints: {public: "https://a.example.com", internal: "https://a.b.svc"}}`

var keystoneServiceCases = kindCases{
	base: `controlPlaneRef: {namespace: tenant-a, name: cloud}`,
	cases: map[string]specCase{
		"Least":   {reason: "A service that serves no API has an account alone.", spec: `{}`},
		"Catalog": {reason: "One that does is in the catalog.", spec: `catalog: ` + inCatalog},
		"Roles":   {reason: "It may be more than a service.", spec: `account: {roles: [service, reader, admin]}`},
		"ControlPlaneChanged": {
			reason: "The account is in another cloud.", old: new(`{}`), spec: `controlPlaneRef: {namespace: tenant-a, name: other}`,
			field: "spec", message: "controlPlaneRef is immutable: the account belongs to that cloud; create another claim",
		},
		"TypeChanged": {
			reason: "Clients find it by its type.", old: new(`catalog: ` + inCatalog),
			spec:  `catalog: ` + strings.Replace(inCatalog, "metering", "meter", 1),
			field: "spec.catalog", message: "type is immutable: clients find the service by it; create another claim for another service",
		},
		"Reserved": {
			reason: "It would receive the tokens of all users.", spec: `catalog: ` + strings.Replace(inCatalog, "metering", "compute", 1),
			field: "spec.catalog.type", message: "this type is reserved for a service of OpenStack; choose another type",
		},
		"TypeOfNoCatalog": {
			reason: "A type is a word.", spec: `catalog: ` + strings.Replace(inCatalog, "metering", `"a b"`, 1),
			field: "spec.catalog.type", message: "should match",
		},
		"AdditionalCatalog": {reason: "It supports another protocol, too.", spec: `{catalog: ` + inCatalog + `, additionalCatalog: [` + alsoInCatalog + `]}`},
		"ProjectInAddress": {
			reason: "Keystone puts the project there.",
			spec:   `catalog: ` + strings.Replace(inCatalog, "/v1", "/v1/AUTH_%(project_id)s", 1),
		},
		"UserInAddress": {
			reason: "Only the project may be a variable.", spec: `catalog: ` + strings.Replace(inCatalog, "/v1", "/v1/%(user_id)s", 1),
			field: "spec.catalog.endpoints.internal", message: "should match",
		},
		"FormatInAddress": {
			reason: "Keystone formats addresses: this one would take gigabytes for each token.",
			spec:   `catalog: ` + strings.Replace(inCatalog, "/v1", "/v1/%9999999999s", 1),
			field:  "spec.catalog.endpoints.internal", message: "should match",
		},
		"AdditionalAlone": {
			reason: "It adds to nothing.", spec: `additionalCatalog: [` + alsoInCatalog + `]`,
			field: "spec", message: "additionalCatalog requires catalog",
		},
		"AdditionalSame": {
			reason: "Clients would find either.", spec: `{catalog: ` + inCatalog + `, additionalCatalog: [` + inCatalog + `]}`,
			field: "spec", message: "additionalCatalog must not contain the type of catalog: clients could find either entry; choose another type",
		},
		"AdditionalReserved": {
			reason: "It would receive the tokens of all users.",
			spec:   `{catalog: ` + inCatalog + `, additionalCatalog: [` + strings.Replace(alsoInCatalog, "s3", "network", 1) + `]}`,
			field:  "spec.additionalCatalog[0].type", message: "this type is reserved for a service of OpenStack; choose another type",
		},
		"RoleOfNobody": {
			reason: "Others are not for services.", spec: `account: {roles: [member]}`, field: "spec.account.roles[0]", message: "Unsupported value",
		},
		"NoRole": {reason: "It could not log in.", spec: `account: {roles: []}`, field: "spec.account.roles", message: "at least 1"},
	},
}

// TestDefinitionAndFunctionReserveSameTypes checks that the rule of the definition and the rule of the function are equal.
func TestDefinitionAndFunctionReserveSameTypes(t *testing.T) {
	doc, err := apis.Definition("keystoneservice")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(doc), "!(self in [")
	list, _, found := strings.Cut(strings.Join(strings.Fields(list), " "), "])")
	if !found {
		t.Fatal("the definition has no such rule")
	}
	requested := strings.Split(list, ", ")
	for _, quoted := range requested {
		if name := strings.Trim(strings.Trim(quoted, "'"), "'"); !keystoneservicev1.ServiceType(name).Reserved() {
			t.Errorf("the definition reserves %s, and the function does not", quoted)
		}
	}
	if want := keystoneservicev1.ReservedTypes(); len(requested) != len(want) {
		t.Errorf("the definition reserves %d types, and the function %d: %s", len(requested), len(want), fmt.Sprint(want))
	}
}
