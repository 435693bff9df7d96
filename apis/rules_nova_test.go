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
