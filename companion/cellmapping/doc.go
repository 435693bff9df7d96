// Package cellmapping reconciles CellMappings: it makes a cell known to Nova, and maps the hypervisors that register in it.
//
// What Nova knows of its cells is in its API database, and only its own tool writes it. That tool makes a second cell when it is told twice
// to make one (nova-manage cell_v2 create_cell compares the addresses that are stored, with whoever reads them filled in, with the template
// that it is given, so they are never equal), and ends with 0. So this is what holds, whatever is lost and whoever stalls:
//
//	One Job at a time, for all CellMappings of a Nova: there is one name for all of them, so the API server makes no second one. Who
//	needs the next clears a Job away that has ended, and whose end its owner has recorded.
//	Whatever changes something directly follows a list of the cells. That list was asked for when the change before it had ended and no
//	pod of it was left, and so it shows what that has done.
//	A Job is made suspended, then it is recorded in status.run by its UID, then it is released, then its end is recorded. Nothing runs
//	that is not recorded, and it is released only as it was seen between two readings of the same record: a leader that stalled releases
//	nothing that another one has already seen to its end. A record whose Job is gone is of one that may have run: the cells are listed
//	again.
//
// The life of a cell:
//
//	list → it is not there: make it → list → it is there
//	     → it is there, and Nova was told something else: update it → list
//	     → there are several of its name: nothing is touched until people have removed all but one
//
// The cells are listed again when the spec has changed, when the controller has started, and before hosts are looked for: that is how it is
// noticed that a database was restored. What was listed is compared as a whole (status.listedHash): a cell whose address was changed by
// others is told again.
//
// Hosts are looked for when Nova's API lists a hypervisor that is mapped to none of the cells, by status.hosts of all CellMappings, or does
// not list one that is mapped here. The API does not say in which cell a hypervisor registers, so each cell looks in its turn, until one
// has it. A search is recorded before it begins and ends with a list of the hosts, however often one of its Jobs fails. One that has found
// nothing is repeated after a pause that grows, and at once when there is another host. The hosts are listed every hour in any case, and
// when the cell was changed by others: one may have been removed and come back between two questions, or a backup may have been restored.
// With the list comes how old the oldest nova-compute of the cell is, by which conductors and APIs speak to all of them.
//
// A CellMapping that is deleted leaves the cell in Nova: there are virtual machines in it, and nova-manage cell_v2 delete_cell is for
// people.
package cellmapping
