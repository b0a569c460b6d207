import DiamondModel
import DiamondTable
import DiamondTestSupport
import DiamondTesting
import Testing

@Suite("The fields of a table") struct TableFieldTests {
    private let contact = Contact.make()
    private let table: SimulatedTable

    init() { table = SimulatedTable(TableSource([.rows(["x"]), .fields(of: contact, Contact.fields)])) }

    private var labels: [String] { table.controller.source.labels[1] }

    @Test func `a value that changes is an update of its row alone`() {
        contact.name = "Grace"
        #expect(labels == ["Grace", "1", "2", "item 100", "item 101"])
        #expect(table.batches == 0 && table.reloads == 1 && table.reconfigurations == 1)
        #expect(table.problem == nil)
    }

    @Test func `an optional value has a row while it is not nil`() {
        contact.nickname = "G"
        #expect(labels == ["Ada", "G", "1", "2", "item 100", "item 101"])
        contact.nickname = nil
        #expect(labels == ["Ada", "1", "2", "item 100", "item 101"])
        #expect(table.batches == 2 && table.reconfigurations == 0)
        #expect(table.problem == nil)
    }

    @Test func `the rows of an array are inserted, deleted and moved`() {
        contact.phones = ["2", "3", "1"]
        #expect(labels == ["Ada", "2", "3", "1", "item 100", "item 101"])
        #expect(table.batches == 1 && table.reconfigurations == 0)
        contact.phones = []
        #expect(labels == ["Ada", "item 100", "item 101"])
        #expect(table.problem == nil)
    }

    @Test func `values with ids of their own are updated`() {
        let source = TableSource([.fields(of: contact, [.values(\.phones) { $0.prefix(1) }])])
        let table = SimulatedTable(source)
        contact.phones = ["1", "22"]
        #expect(table.batches == 0 && table.reconfigurations == 1)
        #expect(source.labels == [["1", "22"]])
        #expect(table.problem == nil)
    }

    @Test func `a nested model is updated, and so is its row when it is replaced`() {
        contact.employer.version = 1
        #expect(table.reconfigurations == 1)
        let former = contact.employer
        contact.employer = Item.make(200)
        #expect(labels[3] == "item 200")
        #expect(table.batches == 0 && table.reconfigurations == 2)
        former.version = 2
        #expect(table.reconfigurations == 2)
        contact.employer.version = 3
        #expect(table.reconfigurations == 3)
        #expect(table.problem == nil)
    }

    @Test func `the rows of a nested collection are inserted, deleted and updated`() throws {
        let item = Item.make(102)
        try contact.addresses.add(item)
        item.version = 1
        try contact.addresses.remove(at: 0)
        #expect(labels == ["Ada", "1", "2", "item 100", "item 102.1"])
        #expect(table.batches == 2 && table.reconfigurations == 1)
        #expect(table.problem == nil)
    }

    @Test func `a table follows a nested collection that nothing else retains, and the collection that replaces it`()
        throws
    {
        final class Holder { var items: ModelCollection<Item>? }
        for _ in 0..<50 {
            let holder = Holder()
            holder.items = ModelCollection()
            let source = TableSource([.fields(of: contact, [.models { _ in holder.items ?? ModelCollection() }])])
            let table = SimulatedTable(source, content: label)
            holder.items = nil
            // The successor may have the same place in memory.
            holder.items = ModelCollection()
            contact.name += "."
            try holder.items?.add(Item.make(1))
            #expect(source.labels == [["item 1"]])
            #expect(table.problem == nil)
        }
    }

    @Test func `one transaction of the model is one batch`() {
        contact.transaction {
            contact.name = "Grace"
            contact.nickname = "G"
            contact.phones = ["3"]
        }
        #expect(labels == ["Grace", "G", "3", "item 100", "item 101"])
        #expect(table.batches == 1 && table.reconfigurations == 1)
        #expect(table.problem == nil)
    }
}
