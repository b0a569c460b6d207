import Diamond
import DiamondModel
import Testing

/// Merges that reach nested models, of which some have rules that reject values.
@Suite("Merges that reach nested models") struct NestedMergingTests {
    private let context = ModelContext()
    private let wallet: Wallet

    init() throws {
        wallet = try context.model(
            from: [
                "id": 1, "name": "A", "limit": 5, "account": ["id": 1, "balance": 5], "accounts": [["id": 7]],
            ])
    }

    /// The paths of the wallet's repairs, without those of its accounts.
    private var ownRepairs: [String] { wallet.repairs.map(\.path).filter { !$0.contains(".") } }

    /// Checks that a merge is refused, and that neither the wallet nor the other models have changed.
    private func expectRefusal(of json: JSONValue, _ keys: [String], beside others: [Account] = []) {
        let before = ([wallet.json] + others.map(\.json), context.count)
        var events: [ModelEvent] = []
        let tokens = ([wallet] + others).map { $0.observe { events.append($0) } }
        #expect { try wallet.merge(json) } throws: { error in
            (error as? ModelError)?.violations.map(\.key) == keys
        }
        #expect([wallet.json] + others.map(\.json) == before.0)
        #expect(context.count == before.1)
        #expect(events.isEmpty && ownRepairs == ["spare"])
        for token in tokens { token.cancel() }
    }

    @Test func `a value that a nested model rejects refuses the whole merge`() {
        expectRefusal(of: ["name": "B", "account": ["balance": -1]], ["account.balance"])
        expectRefusal(of: ["limit": 0, "account": ["id": 1, "balance": -1]], ["limit", "account.balance"])
    }

    @Test func `a merge is refused if a live model outside the merged object rejects its value`() throws {
        let live = try context.model(Account.self, from: ["id": 2, "balance": 9])
        expectRefusal(of: ["name": "B", "account": ["id": 2, "balance": -1]], ["account.balance"], beside: [live])
        try wallet.merge(["account": ["id": 2, "balance": 8]])
        #expect(wallet.account === live && live.balance == 8)
    }

    @Test func `a refused merge does not change other models`() throws {
        let live = try context.model(Account.self, from: ["id": 2, "balance": 9])
        let element = wallet.accounts[0]
        expectRefusal(
            of: [
                "limit": 0, "account": ["id": 2, "balance": 8], "spare": ["id": 3],
                "accounts": [["id": 7, "balance": 1]],
            ], ["limit"], beside: [live, element])
        expectRefusal(
            of: ["spare": ["id": 2, "balance": 8], "account": ["balance": -1]], ["account.balance"], beside: [live])
        #expect(context.existing(Account.self, id: 3) as Account? == nil)
    }

    @Test func `reading an object does not change a live model that rejects a value, and records a repair`() throws {
        let live = try context.model(Account.self, from: ["id": 2, "balance": 9, "name": "B"])
        let other = try context.model(
            Wallet.self, from: ["id": 2, "account": ["id": 2, "balance": -1, "name": "C"], "limit": 1, "name": ""])
        #expect(other.account === live)
        #expect(live.balance == 9 && live.name == "B")
        #expect(other.repairs.map(\.description).contains("account.balance breaks the rule range"))
    }

    @Test func `an element that a live model rejects is stored as rejected, and the rest is merged`() throws {
        let element = wallet.accounts[0]
        try wallet.merge(["name": "B", "accounts": [["id": 7, "balance": -1], ["id": 8], 7]])
        #expect(wallet.name == "B" && element.balance == 0)
        // The element stays with its old values.
        #expect(wallet.accounts.map(\.modelID) == [7, 8])
        #expect(wallet.accounts.rejected.map(\.error.code) == [.invalid, .malformed])
        #expect(ownRepairs == ["spare", "accounts[0]", "accounts[2]"])
        try wallet.merge(["accounts": [["id": 7, "balance": 1]]])
        #expect(wallet.accounts.rejected.isEmpty && ownRepairs == ["spare"])
    }

    @Test func `a merge with nested objects is one event`() throws {
        var keys: [[String]] = []
        let token = wallet.observe { keys.append($0.changes.map(\.key)) }
        try wallet.merge(["name": "B", "account": ["balance": 6, "name": "C"], "spare": ["id": 3, "name": "D"]])
        #expect(keys == [["account.name", "account.balance", "spare.name", "name"]])
        token.cancel()
    }

    @Test func `a nested default model that receives an id becomes the live instance of that id`() throws {
        let spare = wallet.spare
        try wallet.merge(["spare": ["id": 3]])
        #expect(wallet.spare === spare && spare === context.existing(Account.self, id: 3))
        let other = try context.model(Wallet.self, from: ["id": 2, "account": ["id": 3, "balance": 4]])
        #expect(other.account === spare && spare.balance == 4)
        try other.merge(["spare": ["id": 3]])
        #expect(other.spare === spare)
    }

    @Test func `two properties that receive the same id contain the same model`() throws {
        let draft = Wallet()
        try context.register(draft)
        let account = draft.account
        try context.register(account)
        try context.register(draft.spare)
        try draft.merge(["id": 3, "account": ["id": 4], "spare": ["id": 4, "balance": 2]])
        #expect(draft.account === account && draft.spare === account)
        #expect(account.balance == 2 && account.modelID == 4)
    }

    @Test func `a new model that occurs twice in a merge is one instance`() throws {
        try wallet.merge(["account": ["id": 4, "balance": 1], "spare": ["id": "4", "name": "X"]])
        #expect(wallet.account === wallet.spare && wallet.account === context.existing(Account.self, id: 4))
        #expect(wallet.spare.balance == 1 && wallet.spare.name == "X")
    }

    @Test func `null or a value of the wrong type is rejected if a rule rejects the default`() throws {
        expectRefusal(of: ["limit": nil], ["limit", "limit"])
        expectRefusal(of: ["limit": "x", "name": "B"], ["limit", "limit"])
    }
}

/// A model with nested models and a collection of them.
final class Wallet: Model {
    static let name = Property(\Wallet.name, "name")
    static let limit = Property(\Wallet.limit, "limit", rules: [.required, .nonZero], policy: .reject)
    static let account = Property(\Wallet.account, "account")
    static let spare = Property(\Wallet.spare, "spare")
    static let accounts = Property(\Wallet.accounts, "accounts")

    private var _name = ""
    private var _limit = 0
    private var _account = Account()
    private var _spare = Account()

    var name: String {
        get { read(Self.name, from: _name) }
        set { write(Self.name, from: _name, to: newValue) { _name = $0 } }
    }

    var limit: Int {
        get { read(Self.limit, from: _limit) }
        set { write(Self.limit, from: _limit, to: newValue) { _limit = $0 } }
    }

    var account: Account {
        get { read(Self.account, from: _account) }
        set { write(Self.account, from: _account, to: newValue) { _account = $0 } }
    }

    var spare: Account {
        get { read(Self.spare, from: _spare) }
        set { write(Self.spare, from: _spare, to: newValue) { _spare = $0 } }
    }

    let accounts = ModelCollection<Account>()

    override func visit(_ visitor: PropertyVisitor) {
        super.visit(visitor)
        _name = visitor.visit(Self.name, with: _name)
        _limit = visitor.visit(Self.limit, with: _limit)
        _account = visitor.visit(Self.account, with: _account)
        _spare = visitor.visit(Self.spare, with: _spare)
        visitor.visit(Self.accounts, with: accounts)
    }
}
