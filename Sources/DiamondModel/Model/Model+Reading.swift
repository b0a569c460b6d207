public import Diamond
public import Foundation

extension Model {
    /// Creates an object of JSON, outside every context.
    ///
    /// Missing members, `null` and values of another type become defaults, which ``repairs`` names; with `strict` they
    /// are refused.
    ///
    /// - Throws: ``ModelError`` for JSON that is not an object, and where `strict` refuses it.
    public convenience init(json: JSONValue, strict: Bool = false) throws {
        self.init()
        try start(with: json, context: nil)
        if strict { try refuseRepairs() }
    }

    /// Creates an object of a JSON text, outside every context.
    ///
    /// - Throws: ``ModelError`` for text that is not a JSON object, and where `strict` refuses it.
    public convenience init(json text: Data, strict: Bool = false) throws {
        try self.init(json: JSONValue(modelText: text), strict: strict)
    }

    /// Returns an object of the class that the JSON asks for, outside every context: the way in for class clusters.
    ///
    /// - Throws: ``ModelError`` for JSON that is not an object, or one of a class that is no subclass of this.
    public static func decoded(from json: JSONValue) throws -> Self { try decoded(from: json, in: nil) }

    /// The places where the JSON did not hold what the properties need.
    public final var repairs: [Repair] { tracking.repairs }

    static func decoded(from json: JSONValue, in context: ModelContext?) throws -> Self {
        if let context, context.hasID(json, of: Self.self) { return try context.model(Self.self, from: json) }
        let model = try instance(for: json)
        try model.start(with: json, context: context)
        return model
    }

    /// A new object of the class that the JSON asks for, still without values.
    static func instance(for json: JSONValue) throws -> Self {
        let object = try json.modelObject()
        let concrete = concreteClass(for: object)
        guard let type = concrete as? Self.Type else {
            throw ModelError(.wrongClass, "the JSON is of class \(concrete), which is no \(Self.self)")
        }
        return type.init()
    }

    /// Reads the values of a new object.
    final func start(with json: JSONValue, context: ModelContext?) throws {
        let object = try json.modelObject()
        tracking.context = context
        let reading = PropertyVisitor.read(object, into: self, context: context)
        tracking.repairs = reading.repairs
        if !reading.hasNested { tracking.nesting = .absent }
        tracking.source = object
        tracking.serverID = object[Self.idKey].flatMap(ModelID.init(json:))
    }

    private func refuseRepairs() throws {
        guard !repairs.isEmpty else { return }
        let list = repairs.map(\.description).joined(separator: ", ")
        throw ModelError(.needsRepair, "\(list): read it without `strict`, or correct the JSON", repairs: repairs)
    }
}

extension JSONValue {
    init(modelText text: Data) throws {
        do { try self.init(reading: text) } catch { throw ModelError(.malformed, "the text is not JSON: \(error)") }
    }

    func modelObject() throws -> [String: JSONValue] {
        guard case .object(let object) = self else {
            throw ModelError(.malformed, "a model is a JSON object, and this is \(kindName)")
        }
        return object
    }

    func modelText() throws -> Data {
        do { return Data(try writtenText()) } catch { throw ModelError(.notWritable, "\(error)") }
    }
}
