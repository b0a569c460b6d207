import Diamond
import DiamondTestSupport
import Foundation
import Testing

@testable import DiamondModel

/// Objects read from a text are those that are read from its value.
@Suite("Objects read from a text") struct TextReadingTests {
    @Test func `an object in a text of any shape is read as its value is`() throws {
        var random = SplitMix(state: Effort.seed)
        for _ in 0..<Effort.rounds(400, soaking: 50_000) {
            try compare(City.self, object(.city, &random))
            try compare(Wallet.self, object(.wallet, &random))
            try compare(Locality.self, place(&random))
        }
    }

    @Test func `lists in texts give the rows, rejections and change sets of their values`() throws {
        var random = SplitMix(state: Effort.seed)
        for round in 0..<Effort.rounds(100, soaking: 10_000) {
            let hasContext = round % 2 == 0
            try compareLists(of: City.self, hasContext: hasContext, &random) { object(.city, &$0) }
            try compareLists(of: Locality.self, hasContext: hasContext, &random) { place(&$0) }
            try compareLists(of: Animal.self, hasContext: hasContext, &random) {
                text(of: HostileJSON.element(&$0), &$0)
            }
        }
    }

    @Test(arguments: [
        #"{"id":1,"name":"Nara","kind":"town"}"#, #"{"kind":"town","name":"Nara","id":1}"#,
        #"{"id":1,"na\u006de":"Nara","kind":"town"}"#,
        #"{ "id" : 1 , "x" : [{"id":2}], "name" : "Nara", "kind":"town" }"#,
        #"{"id":1,"name":null,"title":"Nara","kind":"town"}"#,
        #"{"id":1,"title":"Nara","kind":"town","geo":{"lat":7}}"#,
    ])
    func `names are found in any order and form, whatever the last object had`(text: String) throws {
        let list = "[{\"id\":7,\"name\":\"Oslo\",\"kind\":\"city\"},\(text)]"
        let places = ModelCollection<Locality>()
        try places.set(Data(list.utf8))
        #expect(places.map(\.name) == ["Oslo", "Nara"] && places[1].kind == .town && places[1].modelID == 1)
        #expect(places.map(\.latitude) == [0, text.contains("lat") ? 7 : 0])
    }

    @Test func `an equal text of an object changes nothing, and another one is merged`() throws {
        let context = ModelContext()
        let text = Data(#"{"id":1,"text":"milk","stars":3}"#.utf8)
        let note = try context.model(Note.self, from: text)
        var events = 0
        let token = note.observe { _ in events += 1 }
        try note.merge(text)
        try note.merge(Data(#"{"stars":3.0, "id":1, "text":"mil\u006b"}"#.utf8))
        #expect(events == 0)
        note.text = "bread"
        try note.merge(text)
        #expect(note.text == "milk" && !note.isDirty && events == 2)
        _ = token
    }

    @Test func `an object in a member that two readers could read differently is refused`() throws {
        let response = Response(text: #"{"note":{"id":1,"text":"milk","text":"bread"},"other":[],"nothing":null}"#)
        let members = try #require(try Note.object(in: response))
        let error = #expect(throws: ModelError.self) { try members.object(at: "note") }
        #expect(error?.code == .malformed)
        #expect(try members.object(at: "other") == nil && members.object(at: "nothing") == nil)
        #expect(try members.object(at: "absent") == nil)
        let values = ObjectMembers(members.object)
        #expect(throws: ModelError.self) { try values.object(at: "note") }
    }

    @Test func `members that no property has are written back`() throws {
        let text = #"{"id":1,"more":{"a":[1.50,"\u00e9"]},"name":"Nara"}"#
        let place = try Locality(json: Data(text.utf8))
        #expect(try place.json == JSONValue(reading: Data(text.utf8)))
        #expect(place.copy().json == place.json)
    }

    @Test func `a long text is read once, and its values stay the same`() throws {
        let songs = (0..<100).map { #"{"id":\#($0),"name":"song \#($0)"}"# }.joined(separator: ",")
        let text = Data(#"{"id":1,"more":[\#(songs)],"name":"Nara"}"#.utf8)
        let place = try Locality(json: text)
        #expect(place.tracking.members?.isLongText == true)
        #expect(try place.json == JSONValue(reading: text) && !place.isDirty)
        #expect(place.tracking.members?.isLongText == false)
        try place.merge(text)
        #expect(try place.source == JSONValue(reading: text))
    }

    @Test func `a part of the last text in another form changes nothing`() throws {
        let note = try Note(json: Data(#"{"id":1,"text":"milk","stars":3}"#.utf8))
        var events = 0
        let token = note.observe { _ in events += 1 }
        for text in [#"{"stars": 3, "id": 1}"#, #"{"text":"mil\u006b","id":1,"stars":3}"#, #"{"id":1}"#] {
            #expect(try note.hasMerged(JSONItem(modelText: Data(text.utf8)).modelObject()))
            try note.merge(Data(text.utf8))
        }
        #expect(events == 0 && note.text == "milk" && note.stars == 3)
        #expect(try !note.hasMerged(JSONItem(modelText: Data(#"{"id":1,"stars":4}"#.utf8)).modelObject()))
        _ = token
    }

    @Test func `a class cluster reads the same members from a value and from a text`() throws {
        let text = #"{"id":1,"kind":"dog","na\u006de":"Rex","more":{"a":[1]}}"#
        let value: [String: JSONValue] = ["id": 1, "kind": "dog", "name": "Rex", "more": ["a": [1]]]
        for members in [ObjectMembers(value), try JSONItem(modelText: Data(text.utf8)).modelObject()] {
            #expect(members.object == value && members["name"] == "Rex" && members["none"] == nil)
            #expect(Animal.concreteClass(for: members) == Dog.self)
        }
    }

    // MARK: Comparing

    private func compare<M: Model>(_ type: M.Type, _ text: String) throws {
        let data = Data(text.utf8)
        let value = Result { try M.decoded(from: JSONValue(reading: data, isolatesFaults: true)) }
        let read = Result { try M.decoded(from: JSONItem(modelText: data).modelObject()) }
        switch (read, value) {
        case (.success(let read), .success(let value)): #expect(state(read) == state(value), "\(note) \(text)")
        case (.failure(let read), .failure(let value)): #expect("\(read)" == "\(value)", "\(note) \(text)")
        default: Issue.record("\(note) \(text): \(read), \(value)")
        }
    }

    private func compareLists<M: Model>(
        of type: M.Type, hasContext: Bool, _ random: inout SplitMix, object: (inout SplitMix) -> String
    ) throws {
        let lists = (0..<2).map { _ in ModelCollection<M>(context: hasContext ? ModelContext() : nil) }
        var changes: [[String]] = [[], []]
        let tokens = lists.indices.map { index in
            lists[index].observe { set in
                changes[index].append(
                    "\(set.deletions.map(\.path)) \(set.insertions.map(\.path)) \(set.moves.map { ($0.from, $0.to) })"
                        + " \(set.updates.map { ($0.old, $0.new) }) \(set.isReset)")
            }
        }
        var texts: [String] = []
        for _ in 0..<3 {
            // Some objects come again.
            texts = texts.filter { _ in random.below(2) == 0 } + (0..<random.below(6)).map { _ in object(&random) }
            let data = Data("[\(texts.joined(separator: " , "))]".utf8)
            let value = try JSONValue(reading: data, isolatesFaults: true)
            if random.below(2) == 0 {
                try lists[0].set(data)
                try lists[1].set(value)
            } else {
                try lists[0].upsert(data)
                try lists[1].upsert(value)
            }
            let (read, expected) = (lists[0].map(state), lists[1].map(state))
            #expect(read == expected && lists[0].rejected == lists[1].rejected, "\(note) \(texts)")
            #expect(changes[0] == changes[1] && lists[0].json == lists[1].json, "\(note) \(texts)")
        }
        _ = tokens
    }

    private var note: String { "seed \(Effort.seed):" }

    private func state(_ model: Model) -> [String] {
        [
            "\(model.json)", "\(model.changedJSON)", "\(JSONValue.object(model.snapshot))", "\(model.repairs)",
            "\(model.violations)", "\(model.isDirty) \(model.isNew) \(type(of: model))", "\(model.source)",
        ]
    }

    // MARK: Texts

    private func object(_ form: HostileJSON.Form, _ random: inout SplitMix) -> String {
        text(of: HostileJSON.object(of: form, &random), &random)
    }

    private func place(_ random: inout SplitMix) -> String {
        var members: [String: JSONValue] = ["id": JSONValue(random.below(5)), "name": "Nara"]
        for name in ["name", "title", "kind", "tags", "area", "geo", "seen", "link"] where random.below(3) > 0 {
            members[name] = HostileJSON.anything(&random)
        }
        if random.below(2) == 0 { members["geo"] = ["lat": HostileJSON.anything(&random), "lng": 7.5] }
        if random.below(2) == 0 { members["kind"] = ["town", "city", "village"][random.below(3)] }
        if random.below(2) == 0 { members["tags"] = ["a", "b"] }
        if random.below(2) == 0 { members["area"] = JSONValue(Double(random.below(1000)) / 8) }
        return text(of: .object(members), &random)
    }

    /// Returns a text of a value: members in any order, space between them, names with escapes, sometimes one twice.
    private func text(of value: JSONValue, _ random: inout SplitMix) -> String {
        let space = random.below(4) == 0 ? " " : ""
        switch value {
        case .object(let object):
            var members: [String] = []
            for (name, value) in object.sorted(by: { $0.key < $1.key }) {
                members.append("\(quoted(name, &random))\(space):\(space)\(text(of: value, &random))")
            }
            if let first = members.first, random.below(40) == 0 { members.append(first) }
            members.shuffle(using: &random)
            return "{\(space)\(members.joined(separator: "," + space))}"
        case .array(let values):
            var parts: [String] = []
            for value in values { parts.append(text(of: value, &random)) }
            return "[\(parts.joined(separator: space + ","))]"
        default: return value.description
        }
    }

    private func quoted(_ name: String, _ random: inout SplitMix) -> String {
        guard random.below(8) == 0, let first = name.unicodeScalars.first, first.isASCII else { return "\"\(name)\"" }
        let digits = String(first.value, radix: 16)
        return "\"\\u00\(digits.count == 1 ? "0" : "")\(digits)\(name.dropFirst())\""
    }
}

extension Model {
    /// The last JSON of the server.
    fileprivate var source: JSONValue { tracking.source.map(JSONValue.object) ?? .null }
}

private final class Locality: Model {
    enum Kind: String, Sendable { case town, city }

    static let id: Property<Locality, Int> = Property(\.id, "id", access: .server)
    static let name: Property<Locality, String> = Property(\.name, "name", or: "title", rules: [.nonEmpty])
    static let kind: Property<Locality, Kind> = Property(\.kind, "kind")
    static let tags: Property<Locality, [String]> = Property(\.tags, "tags")
    static let area: Property<Locality, Double?> = Property(nullable: \.area, "area")
    static let latitude: Property<Locality, Double> = Property(\.latitude, .path("geo", "lat"), or: "lat")
    static let seen: Property<Locality, Date?> = Property(nullable: \.seen, "seen", codec: .secondsSince1970)
    static let link: Property<Locality, URL?> = Property(nullable: \.link, "link", rules: [], policy: .reject)

    private var _id = 0
    private var _name = ""
    private var _kind = Kind.city
    private var _tags: [String] = []
    private var _area: Double?
    private var _latitude = 0.0
    private var _seen: Date?
    private var _link: URL?

    var id: Int { read(Self.id, from: _id) }

    var name: String {
        get { read(Self.name, from: _name) }
        set { write(Self.name, from: _name, to: newValue) { _name = $0 } }
    }

    var kind: Kind {
        get { read(Self.kind, from: _kind) }
        set { write(Self.kind, from: _kind, to: newValue) { _kind = $0 } }
    }

    var tags: [String] {
        get { read(Self.tags, from: _tags) }
        set { write(Self.tags, from: _tags, to: newValue) { _tags = $0 } }
    }

    var area: Double? {
        get { read(Self.area, from: _area) }
        set { write(Self.area, from: _area, to: newValue) { _area = $0 } }
    }

    var latitude: Double {
        get { read(Self.latitude, from: _latitude) }
        set { write(Self.latitude, from: _latitude, to: newValue) { _latitude = $0 } }
    }

    var seen: Date? {
        get { read(Self.seen, from: _seen) }
        set { write(Self.seen, from: _seen, to: newValue) { _seen = $0 } }
    }

    var link: URL? {
        get { read(Self.link, from: _link) }
        set { write(Self.link, from: _link, to: newValue) { _link = $0 } }
    }

    override func visit(_ visitor: PropertyVisitor) {
        super.visit(visitor)
        _id = visitor.visit(Self.id, with: _id)
        _name = visitor.visit(Self.name, with: _name)
        _kind = visitor.visit(Self.kind, with: _kind)
        _tags = visitor.visit(Self.tags, with: _tags)
        _area = visitor.visit(Self.area, with: _area)
        _latitude = visitor.visit(Self.latitude, with: _latitude)
        _seen = visitor.visit(Self.seen, with: _seen)
        _link = visitor.visit(Self.link, with: _link)
    }
}
