import DiamondModel
import DiamondTable
import DiamondTesting
import Foundation
import Observation
import Testing

/// The code of the documentation of models and tables, compiled; the first test proves that it is the same.
@Suite("The model's documentation") struct DocumentationTests {
    private static let articles = [
        "README.md",
        "Sources/DiamondModel/Documentation.docc/DiamondModel.md",
        "Sources/DiamondModel/Documentation.docc/Models.md",
        "Sources/DiamondModel/Documentation.docc/Collections.md",
        "Sources/DiamondModel/Documentation.docc/ChangeSets.md",
        "Sources/DiamondModel/Documentation.docc/Loading.md",
        "Sources/DiamondModel/Documentation.docc/Queueing.md",
        "Sources/DiamondTable/Documentation.docc/DiamondTable.md",
        "Sources/DiamondTable/Documentation.docc/Tables.md",
        "Sources/DiamondModel/Documentation.docc/ComingFromOtherFrameworks.md",
    ]

    @Test(arguments: articles)
    func `an article shows only code that these tests compile`(path: String) throws {
        let text = try String(contentsOf: root.appending(path: path), encoding: .utf8)
        let compiled = try compiledLines
        let blocks = text.components(separatedBy: "```swift\n").dropFirst().map { $0.components(separatedBy: "```")[0] }
        let ours = path == "README.md" ? blocks.filter { $0.contains("import DiamondModel") } : blocks
        #expect(!ours.isEmpty)
        for line in ours.flatMap(\.lines) where !line.hasPrefix("import ") {
            #expect(compiled.contains(line), "\(path): \(line)")
        }
    }

    @Test(arguments: articles)
    func `an article shows the imports that its code needs, in its first block`(path: String) throws {
        let text = try String(contentsOf: root.appending(path: path), encoding: .utf8)
        let blocks = text.components(separatedBy: "```swift\n").dropFirst().map { $0.components(separatedBy: "```")[0] }
        let ours = path == "README.md" ? blocks.filter { $0.contains("import DiamondModel") } : blocks
        let shown = Set(ours.flatMap(\.lines).filter { $0.hasPrefix("import ") })
        let isTable = path.contains("/DiamondTable/")
        #expect(ours.first?.hasPrefix(isTable ? "import DiamondTable\n" : "import DiamondModel\n") == true, "\(path)")
        let code = ours.joined()
        for (module, names) in Self.names where names.contains(where: { code.contains($0) }) {
            #expect(shown.contains("import \(module)"), "\(path): import \(module)")
        }
    }

    /// Code that needs an import beside DiamondModel, which also imports Diamond. DiamondTable imports both.
    private static let names = [
        "Foundation": ["Data(", "Date", "URL", "UUID", "JSONEncoder", "Decimal", "#Predicate", ": Data"],
        "DiamondTable": ["TableSource", "RepresentationRegistry"], "DiamondTesting": ["SimulatedTable"],
        "Testing": ["#expect"], "SwiftUI": [": View"],
    ]

    private var folder: URL { URL(filePath: #filePath).deletingLastPathComponent() }

    private var root: URL { folder.appending(path: "../..") }

    /// The lines of this file and of the other files with code of the documentation.
    private var compiledLines: Set<String> {
        get throws {
            let files = ["DocumentationTests.swift", "DocumentationTests+Frameworks.swift"]
            return Set(try files.flatMap { try String(contentsOf: folder.appending(path: $0), encoding: .utf8).lines })
        }
    }

    private enum Readme {
        nonisolated final class Town: Model {
            static let name: Property<Town, String> = Property(\.name, "name", rules: [.nonEmpty])
            private var _name = ""
            var name: String {
                get { read(Self.name, from: _name) }
                set { write(Self.name, from: _name, to: newValue) { _name = $0 } }
            }
            override func visit(_ visitor: PropertyVisitor) {
                super.visit(visitor)
                _name = visitor.visit(Self.name, with: _name)
            }
        }
    }

    @Test func `has a sample in the README that does what it says`() throws {
        typealias Town = Readme.Town
        var lines: [String] = []
        func print(_ items: Any...) { lines.append(items.map { "\($0)" }.joined(separator: " ")) }
        let towns = ModelCollection<Town>(context: ModelContext())  // one live instance for each id
        towns.sortKeys = [.by(\.name, named: "name")]
        towns.filters["short"] = Filter { $0.name.count < 12 }
        let token = towns.observe { changes in print(changes.insertions.map(\.path), changes.moves.map(\.to)) }
        try towns.upsert([["id": 1, "name": "Nara"], ["id": 2, "name": "Kobe"], ["id": 3, "name": "Otsu"]])
        towns[0].name = "Sapporo"  // prints [] [0.2]: a batch that a table performs as it is
        print(towns.map(\.name), towns[2].changedJSON)  // ["Nara", "Otsu", "Sapporo"] {"name":"Sapporo"}, for a PATCH
        _ = token
        #expect(lines == ["[0.0, 0.1, 0.2] []", "[] [0.2]", #"["Nara", "Otsu", "Sapporo"] {"name":"Sapporo"}"#])
    }

    /// Never called: compiling it is the test.
    private func overview() throws {
        let text = Data(#"{"id": 7, "title": "Kyoto", "mayor": null, "founded": "0794-10-22T00:00:00Z"}"#.utf8)
        let city = try City(json: text)
        print(city.name, city.repairs)  // Kyoto [population is missing, mayor is null, districts is missing]
        city.population = 1_450_000
        print(city.isDirty, city.changedJSON)  // true, and the population alone
        try city.merge(["name": "Kyōto"])  // the server's values
        city.rollback()
    }

    /// The program's own record of its objects.
    private struct Record {
        func setID(_ id: ModelID?, of local: ModelID?) throws {}
    }

    private func queueing(engine: Engine, replayer: Replayer, record: Record, drafts: ModelCollection<City>)
        async throws
    {
        let context = ModelContext(engine: engine)
        let city = City()
        try context.register(city)
        try await city.save(.queued) { $0.name = "Nara" }  // returns after the first attempt
        print(city.hasQueuedSaves, city.saveState)  // true, waiting(since: …) while it waits
        try await city.save(.queuedInBackground) { $0.population = 350_000 }  // returns when it is on disk
        let replaying = Task { await replayer.run() }
        let district = District()
        district.city = ParentReference(city)  // a new city, whose call waits
        try context.register(district)
        try await district.save()  // queued, and sent after the city
        for save in try await context.collectSaves(of: City.self) {
            print(save.serverID as Any, save.failure as Any)
        }
        print("\(context.waiting.count) changes are not sent")
        for object in context.waiting { print(object.id, object.call, object.state) }
        for job in try await city.queuedJobs() where job.state == .needsReview {
            try await engine.queue().redrive(job.id)  // or discard(job.id)
        }
        context.recordSaves = { saves in
            for save in saves { try record.setID(save.serverID, of: save.localID) }
        }
        for city in try await context.queuedModels(City.self) { try drafts.add(city) }
        replaying.cancel()
    }

    private func models(city: City, text: Data) async throws {
        let strict = try City(json: text, strict: true)
        print(strict)
        let animal = try Animal.decoded(from: ["id": 1, "kind": "dog", "breed": "Akita"])
        print(animal is Dog)  // true
        let token = city.observe { event in print(event.changes.map(\.key)) }
        city.transaction {
            city.name = "Nara"
            city.mayor.name = "Tanaka"
        }
        token.cancel()  // or drop it
        for await change in city.changes(\.name) { print(change.old, change.new) }
        try city.validate()  // before a save: throws when a rule is broken
        for violation in city.violations { print(violation.key, violation.reason) }  // to show next to the fields
        let code = Codec<String>(
            decode: { json in
                guard let text = String(json: json), text.count == 5 else {
                    throw FormError(description: "has 5 digits")
                }
                return text
            }, encode: { $0.json })
        print(code)
        city["name"] = "Ōsaka"  // by key; a server property rejects it
        try city.replace(["name": "Kōbe", "population": 1_500_000])
        print(city.snapshot)
    }

    private func undoing(cities: ModelCollection<City>) {
        let history = EditHistory()
        history.record(cities)  // its members, their order and their values; or a single model
        history.transaction {  // several objects, one step
            cities[0].name = "Nara"
            cities.remove(cities[1])
        }
        history.undo()
        history.redo()
        print(history.canUndo, history.canRedo)  // for buttons; observable
    }

    @MainActor private func several(cities: ModelCollection<City>, city: City, engine: Engine) async throws {
        let loading = Task { try await cities.load() }  // in the actor of the caller
        let saving = Task { try await city.save() }
        try await loading.value
        try await saving.value
        let following = Task { await cities.follow(engine.updates(Request("cities"), every: .seconds(60))) }
        following.cancel()  // in SwiftUI, call follow in a view's task
    }

    private func contexts(json: JSONValue) throws {
        let context = ModelContext()
        let city = try context.model(City.self, from: json)
        print(try context.model(City.self, from: json) === city)  // true
        let draft = City()  // has a local id until the server assigns one
        try context.register(draft)
        let id = draft.typedID  // Sendable
        print(context[id] === draft)  // true
        try draft.merge(["id": 8])
        print(context.existing(City.self, id: 8) === draft)  // true
    }

    private func collections(text: Data) throws {
        let cities = ModelCollection<City>(context: ModelContext())
        try cities.set(text)
        print(cities.rejected)  // the elements that were not accepted, and why
        cities.sortKeys = [.by(\.population, order: .reverse, named: "population"), .by(\.name, named: "name")]
        cities.filters["large"] = Filter { $0.population > 1_000_000 }
        cities.filters["old"] = Filter(#Predicate { $0.population > 0 })
        cities.filters["large"] = nil
        print(cities.map(\.name), cities[id: 7]?.name ?? "", cities.allModels.count)
        cities.sectionRule = .initials(of: \.name)
        for section in cities.sections { print(section.title, cities[section.indices].map(\.name)) }
        let draft = City()
        try cities.add(draft)  // where it belongs
        try cities.move(from: 0, to: 2)  // stays there until the next sort
        cities.sort()
        cities.remove(draft)
    }

    private func sources(text: String, database: Database) async throws {
        var configuration = Engine.Configuration()
        configuration.baseURL = "https://api.example.com/v1/"  // relative URLs are resolved against it
        let engine = Engine(configuration)
        let context = ModelContext(engine: engine)
        let cities = ModelCollection<City>(context: context)
        cities.source = PageSource(
            engine, Request("cities", parameters: ["country": "DE"]), paging: .page(size: 50),
            format: PageFormat(items: "data", totalField: "X-Total-Count"))  // the total may be in the body, too
        try await cities.load()
        print(cities.count, cities.total ?? 0)
        while cities.hasMore { try await cities.next() }  // no row twice
        try await cities.refresh()  // new rows, at the top
        cities.source = PageSource(engine, Request("cities", parameters: ["q": text]), paging: .page(size: 50))
        cities.appliesPagesAtOnce = true
        cities.source = PageSource { query in
            Page(items: try await database.rows(), isLast: true)
        }
    }

    private func loading(cities: ModelCollection<City>) async throws {
        let token = cities.observeLoading([.failed, .finished]) { cities, event in print(cities.count, event) }
        try await cities.loadIfNeeded()  // if it was never loaded, or is outdated
        cities.loadState.expiry = .seconds(3600)  // outdated after an hour; a day by default
        try await cities.invalidate(erase: true)  // outdated at once, and erased from the cache
        cities.cancel()
        token.cancel()
        let presenter = LoadPresenter(cities)
        let shown = presenter.observe { presentation in
            if case .error(let message) = presentation { print(message) }
        }
        await presenter.appear()
        await presenter.retry()
        shown.cancel()
    }

    private func images(engine: Engine, city: PicturedCity) async throws {
        let images = ResourceLoader(engine, capacity: 64 << 20) { data, _ in try Picture(data) }
        let portrait = RemoteValue(images, default: Picture()) { city.portraitURL }
        print(portrait.value)  // the default, until it is loaded
        try await portrait.load()  // when the cell is shown
    }

    private func editing(city: City, text: String) async throws {
        let draft = city.copy()  // in no list
        draft.name = text
        guard draft.violations.isEmpty else { return print(draft.violations) }
        try await city.save { $0.name = draft.name }
    }

    private func thumbnails() {
        var configuration = Engine.Configuration()
        configuration.lanes = ["images": LaneLimits(width: 4)]
        let engine = Engine(configuration)
        let thumbnails = ResourceLoader(engine) { url in
            var request = Request(url)
            request.lane = "images"
            return request
        } decode: { data, _ in
            try Picture(data)
        }
        print(thumbnails)
    }

    private func saving(cities: ModelCollection<City>) async throws {
        let city = City()
        try await cities.create(city)  // POST; removed again if the server refuses it
        try await city.save { $0.name = "Nara" }  // visible at once, undone if it fails
        try await city.save(.wait) { $0.name = "Kyoto" }  // visible when the server has confirmed it
        try await city.save(.queued) { $0.name = "Kobe" }  // queued on disk, and sent later if it cannot be sent now
        try await city.load()  // GET
        try await city.destroy()  // DELETE; restored to its exact place if it fails
        cities.delete(city)  // removed from the list now, from the server with the next upload
        cities.undelete(city)  // undo: restored to its place
        try await cities.sync()  // uploads new, changed and deleted objects, then loads
    }

    private func archives(cities: ModelCollection<City>) throws {
        let large = Filter<City> { $0.population > 1_000_000 }
        let archive = try JSONEncoder().encode(cities)
        let back = try JSONDecoder().decode(ModelCollection<City>.self, from: archive)
        back.restore(filters: ["large": large], sortKeys: [.by(\.name, named: "name")])
    }

    private func changeSets(cities: ModelCollection<City>) throws {
        let gesture = ChangeOrigin()
        let token = cities.observe { changes in
            guard changes.origin !== gesture else { return }  // the table shows it already
            if changes.isReset { return print("reload") }
            print(changes.deletions.map(\.path), changes.insertions.map(\.path))  // in the batch
            print(changes.moves.map { ($0.from, $0.to) })
            print(changes.updates.map(\.new))  // to be configured after the batch
        }
        try cities.transaction(origin: gesture) { try cities.move(from: 3, to: 0) }
        token.cancel()
    }

    private func tables(city: City, cities: ModelCollection<City>, display: any TableDisplay) throws {
        let source = TableSource([
            .fields(of: city, header: "City", [.value(\.name), .value(\.population), .model(\.mayor)]),
            .collection(city.districts, header: "Districts", editing: RowEditing()),
            .rows(["About"], footer: "Data by GeoNames"),
        ])
        print(source.representedObject(at: RowPath(section: 0, row: 0)) ?? "")  // Kyoto
        print(source.path(of: city.mayor) ?? "", source.title(of: 1) ?? "")  // 0.2 Districts
        let controller = TableController(source)
        controller.display = display  // the display retains the controller
        controller.source = TableSource([.rows(["Nothing here yet"])])
        source.onSelection(of: City.self) { city, path in print("open", city.name, path) }
        source.onSelection(of: Any.self) { object, _ in print("nothing to open for", object) }
        source.select(RowPath(section: 0, row: 0))
    }

    private func representations(city: City) {
        let registry = RepresentationRegistry<String>(
            fallback: { "? \($0)" }, onUnknown: { unknown in print(unknown) })
        registry.register(City.self) { city, state in state.contains(.selected) ? "▸ \(city.name)" : city.name }
        registry.register(City.self, in: .detail) { city, _ in "\(city.name), \(city.population) people" }
        registry.register((any CustomStringConvertible).self) { value, _ in value.description }
        print(registry.representation(of: city, in: .detail))
    }

    private func editing(cities: ModelCollection<City>) throws {
        let editing = RowEditing<City>(
            canRemove: { !$0.isNew },
            changeSection: { city, key in
                city.name = key + city.name.dropFirst()  // now it belongs there
                return true
            },
            makeModel: { _ in City() },
            onRemove: { cities, city in cities.delete(city) })  // and from the server, with the next upload
        let editable = TableSource([.collection(cities, editing: editing)])
        editable.move(from: RowPath(section: 0, row: 0), to: RowPath(section: 0, row: 2))
        let table = SimulatedTable(TableSource([.collection(cities, editing: RowEditing())]))
        try cities.remove(at: 0)
        table.drag(from: RowPath(section: 0, row: 0), to: RowPath(section: 0, row: 1))
        #expect(table.problem == nil)
    }

    private func searching(cities: ModelCollection<City>, suggestions: ModelCollection<City>, engine: Engine)
        async throws
    {
        try await cities.loadIfNeeded()  // when the screen appears
        let loaded = TableSource([.collection(cities)], loading: cities)
        await loaded.refresh()  // as after a pull
        await loaded.loadMore(showing: RowPath(section: 0, row: 18))  // as row 18 comes on screen
        print(loaded.presentation, loaded.more)
        let search = SearchDebouncer { text in
            try await engine.send(Request("suggestions", parameters: ["q": text])).body
        } receive: { outcome in
            switch outcome {
            case .found(let data, _): try? suggestions.set(data)
            case .failed(let error, let text): print("no answer for \(text): \(error)")
            case .reset: suggestions.removeAll()
            }
        }
        await search.search("kyo")
    }
}

extension District: Representable {
    func representation(in context: RepresentationContext, state: RowState) -> String? { "· \(name)" }
}

nonisolated final class City: Model {
    static let id: Property<City, Int> = Property(\.id, "id", access: .server)
    static let name: Property<City, String> = Property(\.name, "name", or: "title", rules: [.nonEmpty])
    static let population: Property<City, Int> = Property(\.population, "population", rules: [.range(0...)])
    static let founded: Property<City, Date> = Property(\.founded, "founded", codec: .iso8601)
    static let mayor: Property<City, Person> = Property(\.mayor, "mayor")
    static let districts: Property<City, ModelCollection<District>> = Property(\.districts, "districts")

    private var _id = 0
    private var _name = ""
    private var _population = 0
    private var _founded = Date.distantPast
    private var _mayor = Person()

    var id: Int { read(Self.id, from: _id) }

    var name: String {
        get { read(Self.name, from: _name) }
        set { write(Self.name, from: _name, to: newValue) { _name = $0 } }
    }

    var population: Int {
        get { read(Self.population, from: _population) }
        set { write(Self.population, from: _population, to: newValue) { _population = $0 } }
    }

    var founded: Date {
        get { read(Self.founded, from: _founded) }
        set { write(Self.founded, from: _founded, to: newValue) { _founded = $0 } }
    }

    var mayor: Person {
        get { read(Self.mayor, from: _mayor) }
        set { write(Self.mayor, from: _mayor, to: newValue) { _mayor = $0 } }
    }

    let districts = ModelCollection<District>()

    override func visit(_ visitor: PropertyVisitor) {
        super.visit(visitor)
        _id = visitor.visit(Self.id, with: _id)
        _name = visitor.visit(Self.name, with: _name)
        _population = visitor.visit(Self.population, with: _population)
        _founded = visitor.visit(Self.founded, with: _founded)
        _mayor = visitor.visit(Self.mayor, with: _mayor)
        visitor.visit(Self.districts, with: districts)
    }
}

nonisolated struct FormError: Error, CustomStringConvertible {
    let description: String
}

private func readForecast() async throws -> String { "" }

private nonisolated struct Picture: Sendable {
    init() {}
    init(_ data: Data) throws {}
}

private final class PicturedCity {
    var portraitURL = ""
}

private struct Database: Sendable {
    func rows() async throws -> [JSONValue] { [] }
}

final class Forecast: Loadable {
    let loadState = LoadState()
    private(set) var text = ""

    func loader(for load: Load) -> (@concurrent @Sendable () async throws -> String)? {
        { try await readForecast() }
    }

    func apply(_ text: String, of load: Load) { self.text = text }
}

private nonisolated final class WrappedCity: Model {
    override func request(for call: ModelCall, body: JSONValue?) throws -> Request {
        var request = try super.request(for: call, body: body.map { ["city": $0] })
        request.headers[.accept] = "application/vnd.example+json"
        return request
    }

    override class func object(in response: Response) throws -> ObjectMembers? {
        try super.object(in: response)?.object(at: "city")
    }
}

nonisolated final class Person: Model {
    static let name: Property<Person, String> = Property(\.name, "name")

    private var _name = ""

    var name: String {
        get { read(Self.name, from: _name) }
        set { write(Self.name, from: _name, to: newValue) { _name = $0 } }
    }

    override func visit(_ visitor: PropertyVisitor) {
        super.visit(visitor)
        _name = visitor.visit(Self.name, with: _name)
    }
}

nonisolated final class District: Model {
    static let name: Property<District, String> = Property(\.name, "name")
    static let city: Property<District, ParentReference<City>> = Property(\.city, "city_id")

    private var _name = ""
    private var _city = ParentReference<City>()

    var name: String {
        get { read(Self.name, from: _name) }
        set { write(Self.name, from: _name, to: newValue) { _name = $0 } }
    }

    var city: ParentReference<City> {
        get { read(Self.city, from: _city) }
        set { write(Self.city, from: _city, to: newValue) { _city = $0 } }
    }

    override func visit(_ visitor: PropertyVisitor) {
        super.visit(visitor)
        _name = visitor.visit(Self.name, with: _name)
        _city = visitor.visit(Self.city, with: _city)
    }
}

nonisolated class Animal: Model {
    static let name: Property<Animal, String> = Property(\.name, "name")

    private var _name = "nameless"

    var name: String {
        get { read(Animal.name, from: _name) }
        set { write(Animal.name, from: _name, to: newValue) { _name = $0 } }
    }

    override class func concreteClass(for object: ObjectMembers) -> Model.Type {
        object["kind"] == "dog" ? Dog.self : self
    }

    override class var identityClass: Model.Type { Animal.self }

    override func visit(_ visitor: PropertyVisitor) {
        super.visit(visitor)
        _name = visitor.visit(Animal.name, with: _name)
    }
}

nonisolated final class Dog: Animal {
    static let breed: Property<Dog, String> = Property(\.breed, "breed")

    private var _breed = "mutt"

    var breed: String {
        get { read(Dog.breed, from: _breed) }
        set { write(Dog.breed, from: _breed, to: newValue) { _breed = $0 } }
    }

    override func visit(_ visitor: PropertyVisitor) {
        super.visit(visitor)
        _breed = visitor.visit(Dog.breed, with: _breed)
    }
}

private nonisolated final class Crest: Model {
    static let motto: Property<Crest, String?> = Property(nullable: \.motto, "motto")

    private var _motto: String?

    var motto: String? {
        get { read(Self.motto, from: _motto) }
        set { write(Self.motto, from: _motto, to: newValue) { _motto = $0 } }
    }

    override func visit(_ visitor: PropertyVisitor) {
        super.visit(visitor)
        _motto = visitor.visit(Self.motto, with: _motto)
    }
}

#if Macros
/// The classes above as a macro writes them.
enum ByMacro {
    @Modeled nonisolated final class City: Model {
        @Server var id = 0
        @Key("name", or: "title") @Rule(.nonEmpty) var name = ""
        @Rule(.range(0...)) var population = 0
        @Key(codec: .iso8601) var founded = Date.distantPast
        var mayor = Person()
        let districts = ModelCollection<District>()
        @Transient var isExpanded = false
    }

    @Modeled nonisolated final class Person: Model {
        var name = ""
    }

    @Modeled nonisolated final class District: Model {
        var name = ""
        @Key("city_id") var city = ParentReference<City>()
    }

    @Modeled nonisolated class Animal: Model {
        var name = "nameless"

        override class func concreteClass(for object: ObjectMembers) -> Model.Type {
            object["kind"] == "dog" ? Dog.self : self
        }

        override class var identityClass: Model.Type { Animal.self }
    }

    @Modeled nonisolated final class Dog: Animal {
        var breed = "mutt"
    }

    @Modeled nonisolated final class House: Model {
        @Rule(.postalCode, policy: .reject) var code = "00000"
        @Rule(Rule<Int>("even", reason: "must be even") { $0.isMultiple(of: 2) }) var storeys = 2
        @Nullable @Key(codec: .iso8601) var closed: Date?
    }
}

extension Rule where Value == String {
    nonisolated fileprivate static var postalCode: Rule { Rule("postalCode") { $0.count == 5 } }
}
#endif

extension String {
    /// The lines without their indentation; empty ones do not count.
    fileprivate var lines: [String] {
        split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
    }
}
