import Diamond
import DiamondModel
import Testing

@Suite("Models whose id the app may set") struct SettableIDTests {
    private let context = ModelContext()
    private let label: Label
    private let labels: ModelCollection<Label>

    init() throws {
        labels = ModelCollection(context: context)
        try labels.set([["slug": "a"], ["slug": "b"]])
        label = labels[0]
    }

    /// Whether context and collection know the label by this id alone.
    private func isKnown(by id: ModelID, notBy old: ModelID) -> Bool {
        label.modelID == id && context.existing(Label.self, id: id) === label && labels[id: id] === label
            && context.existing(Label.self, id: old) as Label? == nil && labels[id: old] == nil
    }

    @Test(
        arguments: [
            { $0.slug = "c" }, { $0["slug"] = "c" }, { try $0.set("slug", to: "c") }, { try $0.replace(["slug": "c"]) },
            { try $0.merge(["slug": "c"]) },
        ] as [@Sendable (Label) throws -> Void])
    func `a context and its collections find a model by its new id, until a rollback restores the old id`(
        set: @Sendable (Label) throws -> Void
    ) throws {
        var changes: [ModelID] = []
        let token = context.observeIDs { changes += [$0.old, $0.new] }
        try set(label)
        #expect(label.slug == "c" && isKnown(by: "c", notBy: "a"))
        #expect(changes == ["a", "c"])
        let isDirty = label.isDirty
        label.rollback()
        #expect(!isDirty || (label.slug == "a" && isKnown(by: "a", notBy: "c")))
        #expect(changes == (isDirty ? ["a", "c", "c", "a"] : ["a", "c"]))
        token.cancel()
    }

    @Test func `an id that another model has is refused from every setter`() throws {
        label.slug = "b"
        #expect(label.slug == "a" && label.rejections.map(\.rule) == ["unique"])
        label["slug"] = "b"
        #expect(label.slug == "a" && label.rejections.map(\.rule) == ["unique"])
        #expect { try label.set("slug", to: "b") } throws: { ($0 as? ModelError)?.code == .duplicateID }
        #expect { try label.merge(["slug": "b"]) } throws: { ($0 as? ModelError)?.code == .duplicateID }
        #expect(isKnown(by: "a", notBy: "c") && !label.isDirty)
        label.slug = "c"
        #expect(label.rejections.isEmpty)
    }

    @Test func `a model does not lose its id`() throws {
        label.slug = ""
        #expect(label.rejections.map(\.rule) == ["id"])
        #expect { try label.remove("slug") } throws: { ($0 as? ModelError)?.code == .notSettable }
        #expect { try label.set("slug", to: "") } throws: { ($0 as? ModelError)?.code == .invalid }
        label.text = "x"
        label.removeAll()
        #expect(label.text == "")
        try label.merge(["slug": nil, "text": "y"])
        #expect(label.slug == "a" && label.text == "y" && isKnown(by: "a", notBy: ""))
        #expect(label.repairs.map(\.description) == ["slug is null"])
        #expect(label.json == ["slug": "a", "text": "y"])
    }

    @Test func `a new model whose id is rolled back is new again`() throws {
        let draft = Label()
        let local = draft.modelID
        try labels.add(draft)
        draft["slug"] = "n"
        #expect(labels[id: "n"] === draft)
        draft.rollback()
        #expect(draft.isNew && draft.modelID == local && draft.slug == "")
        #expect(labels[id: local] === draft && labels[id: "n"] == nil)
        #expect(context.existing(Label.self, id: "n") as Label? == nil)
    }

    @Test func `a rollback does not restore an id that another model has taken meanwhile`() throws {
        label.slug = "c"
        label.text = "x"
        try labels.upsert([["slug": "a"]])
        label.rollback()
        #expect(label.slug == "c" && label.text == "" && label.dirtyProperties.map(\.key) == ["slug"])
        #expect(label.rejections.map(\.rule) == ["unique"])
        #expect(labels.map(\.slug) == ["c", "b", "a"])
    }

    @Test func `a value that is set by key and refused is listed once in the rejections`() {
        let account = Account()
        for _ in 0..<2 { account["balance"] = -1 }
        #expect(account.rejections.map(\.description) == ["balance breaks the rule range"])
        for _ in 0..<2 { account["balance"] = "x" }
        #expect(account.rejections.map(\.description) == ["balance breaks the rule type"])
        account["balance"] = 1
        #expect(account.balance == 1 && account.rejections.isEmpty)
    }

    @Test func `removing all values keeps only the property whose default a rule rejects`() throws {
        let wallet = try Wallet(json: ["name": "A", "limit": 5])
        var events = 0
        let token = wallet.observe { _ in events += 1 }
        wallet.removeAll()
        #expect(wallet.name == "" && wallet.limit == 5 && events == 1)
        #expect(wallet.rejections.map(\.description) == ["limit breaks the rule nonZero"])
        token.cancel()
    }

    @Test func `an array with elements of another type is refused when it is set by key`() throws {
        let place = Place()
        place["tags"] = ["a", 1]
        #expect(place.tags.isEmpty && place.rejections.map(\.rule) == ["type"])
    }
}

/// A model with a text as its id, which the app chooses.
final class Label: Model {
    static let slug = Property(\Label.slug, "slug")
    static let text = Property(\Label.text, "text")

    private var _slug = ""
    private var _text = ""

    override class var idKey: String { "slug" }

    var slug: String {
        get { read(Self.slug, from: _slug) }
        set { write(Self.slug, from: _slug, to: newValue) { _slug = $0 } }
    }

    var text: String {
        get { read(Self.text, from: _text) }
        set { write(Self.text, from: _text, to: newValue) { _text = $0 } }
    }

    override func visit(_ visitor: PropertyVisitor) {
        super.visit(visitor)
        _slug = visitor.visit(Self.slug, with: _slug)
        _text = visitor.visit(Self.text, with: _text)
    }
}
