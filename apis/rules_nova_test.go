package apis_test

var cellMappingCases = kindCases{
	base: `{cell: cell1, databaseConnection: "mysql+pymysql://{username}:{password}@mariadb.cloud.svc:3306/nova_cell1",
		transportURL: "rabbit://{username}:{password}@rabbitmq.cloud.svc:5671/nova_cell1", template: {}}`,
	cases: map[string]specCase{
		"CellChanged": {
			reason:  "Nova would keep the old cell, and its hosts.",
			old:     new(`{}`),
			spec:    `cell: cell2`,
			field:   "spec.cell",
			message: "cell is immutable; create another CellMapping",
		},
		"NovaChanged": {
			reason:  "The cell would be made once more, in another Nova.",
			old:     new(`{}`),
			spec:    `novaName: another`,
			field:   "spec.novaName",
			message: "novaName is immutable; create another CellMapping",
		},
		"Templates": {
			reason: "Readers of the mapping use their own accounts.",
			spec:   `transportURL: "rabbit://{username}:{password}@rabbitmq.cloud.svc:5671/nova_cell1?ssl=true"`,
		},
		"DatabasePassword": {
			reason:  "It would be readable in the object, and in Nova's database.",
			spec:    `databaseConnection: "mysql+pymysql://nova:secret@mariadb.cloud.svc:3306/nova_cell1"`,
			field:   "spec.databaseConnection",
			message: "databaseConnection must not contain a password; use {username}:{password}",
		},
		"TransportPassword": {
			reason:  "It would be readable in the object, and in Nova's database.",
			spec:    `transportURL: "rabbit://nova:secret@rabbitmq.cloud.svc:5671/nova_cell1"`,
			field:   "spec.transportURL",
			message: "transportURL must not contain a password; use {username}:{password}",
		},
		"NoTransport": {
			reason:  "Nova would store the address of the Job's pod, including its password.",
			spec:    `transportURL: ""`,
			field:   "spec",
			message: "transportURL is required for every cell except cell0, which has none",
		},
		"Cell0": {
			reason: "It has no queue.",
			spec:   `{cell: cell0, transportURL: ""}`,
		},
		"Cell0Transport": {
			reason:  "It has no queue.",
			spec:    `cell: cell0`,
			field:   "spec",
			message: "transportURL is required for every cell except cell0, which has none",
		},
		"Cell0Disabled": {
			reason:  "Nova refuses it, with exit code 5.",
			spec:    `{cell: cell0, transportURL: "", disabled: true}`,
			field:   "spec",
			message: "disabled cannot be set for cell0, which never gets virtual machines",
		},
	},
}

var novaCellCases = kindCases{
	base: `{
		openStackRelease: "2025.2", region: RegionOne, cell: cell1, novaRef: {name: nova},
		database: &database {mariaDBRef: {name: mariadb}, host: mariadb.cloud.svc, caSecretRef: {name: mariadb-ca-bundle, key: ca.crt}},
		novaDatabase: *database,
		queue: &queue {rabbitMQRef: {name: rabbitmq}, host: rabbitmq.cloud.svc, caSecretRef: {name: rabbitmq-tls, key: ca.crt}},
		novaQueue: *queue,
		cache: {servers: ["memcached-0.memcached.cloud.svc:11211"]},
		endpoints: {public: "https://compute.example.org/v2.1", internal: "https://nova.cloud.svc:8774/v2.1"},
		issuerRef: {name: internal}, conductor: {}, proxies: {},
		identity: {
			internalURL: "https://keystone.cloud.svc:5000/v3", publicURL: "https://identity.example.org/v3",
			caSecretRef: {name: keystone-tls, key: ca.crt}, adminCloudRef: {secretName: a, cloudName: a}, korcCloudRef: {secretName: a, cloudName: a},
		},
	}`,
	cases: map[string]specCase{
		"CellChanged": {
			reason:  "The virtual machines of a cell are recorded in its database.",
			old:     new(`{}`),
			spec:    `cell: cell2`,
			field:   "spec.cell",
			message: "cell is immutable: its servers are recorded in it; restore the previous value",
		},
		"CellAPI": {
			reason:  "Its database would be the database of Nova's API.",
			spec:    `cell: api`,
			field:   "spec.cell",
			message: "cell0 and api are reserved, because the database of a cell is named nova_<cell>; choose another name",
		},
	},
}
