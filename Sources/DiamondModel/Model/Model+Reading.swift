public import Diamond
public import Foundation

extension Model {
    /// Creates an object of JSON, outside every context.
    ///
    /// A missing member, `null` or a value of another type leaves the default, and ``repairs`` names it. With `strict` it
    /// is refused.
    ///
    /// - Throws: ``ModelError`` for JSON that is not an object, and where `strict` refuses it.
    public convenience init(json: JSONValue, strict: Bool = false) throws {
        self.init()
        try start(with: json)
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
    /// - Throws: ``ModelError`` for JSON that is not an object, or whose class is no subclass of this.
    public static func decoded(from json: JSONValue) throws -> Self {
        let model = try instance(for: json)
        try model.start(with: json)
        return model
    }

    /// The places where the JSON did not hold what the properties need.
    public final var repairs: [Repair] { tracking.repairs }

    /// Returns the nested object of a property: the live instance where there is one, with its merge staged, or a new one.
    static func nested(in json: JSONValue, _ log: inout RepairLog) throws -> Self {
        let id = try json.modelObject()[idKey].flatMap(ModelID.init(json:))
        guard let context = log.context, let staging = log.staging, let id else {
            let model = try instance(for: json)
            try model.start(with: json, context: log.context, staging: log.staging)
            return model
        }
        if let live = staging.model(self, id, in: context) {
            let model: Self = try live.live(for: json)
            _ = log.merge(json, into: model)
            return model
        }
        let model = try instance(for: json)
        model.tracking.context = context
        staging.add(model, id)
        try model.start(with: json, context: context, staging: staging)
        return model
    }

    /// This live instance, for JSON with its id.
    ///
    /// - Throws: ``ModelError`` `wrongClass`.
    final func live<M: Model>(for json: JSONValue) throws -> M {
        let concrete = type(of: self).concreteClass(for: try json.modelObject())
        guard let model = self as? M, type(of: self) == concrete else {
            throw ModelError(
                .wrongClass, "\(modelID) is a live \(type(of: self)), and the JSON is of class \(concrete)")
        }
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
    final func start(with json: JSONValue, context: ModelContext? = nil, staging: Staging? = nil) throws {
        let object = try json.modelObject()
        tracking.context = context
        tracking.source = object
        tracking.serverID = object[Self.idKey].flatMap(ModelID.init(json:))
        let reading = PropertyVisitor.read(object, into: self, RepairLog(context: context, staging: staging))
        tracking.repairs = reading.repairs
        if !reading.hasNested { tracking.nesting = .absent }
        if let context, let time = context.answerTime { noteFirstAnswer(object, time, context) }
        for array in reading.arrays {
            guard let staging else { load(array.values, into: array.core, of: array.property); continue }
            staging.append { self.load(array.values, into: array.core, of: array.property) }
        }
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
