public import Diamond
public import Foundation

extension Model {
    /// Creates an object from JSON, outside every context.
    ///
    /// A missing member, `null` or a value of another type leaves the default and is added to ``repairs``.
    ///
    /// - Parameters:
    ///   - json: The JSON object.
    ///   - strict: Whether JSON that needs repairs is refused.
    /// - Throws: ``ModelError`` for JSON that is not an object, or that `strict` refuses.
    public convenience init(json: JSONValue, strict: Bool = false) throws {
        self.init()
        try start(with: json)
        if strict { try refuseRepairs() }
    }

    /// Creates an object from a JSON text, outside every context.
    ///
    /// - Throws: ``ModelError`` for text that is not a JSON object, or that `strict` refuses.
    public convenience init(json text: Data, strict: Bool = false) throws {
        try self.init(json: JSONValue(modelText: text), strict: strict)
    }

    /// Creates an object of the class that ``concreteClass(for:)`` returns, outside every context. For class clusters.
    ///
    /// - Throws: ``ModelError`` for JSON that is not an object, or whose class is no subclass of this class.
    public static func decoded(from json: JSONValue) throws -> Self {
        let model = try instance(for: json)
        try model.start(with: json)
        return model
    }

    /// The values that were missing or invalid in the JSON, including those of nested models, with their paths.
    public final var repairs: [Repair] {
        var visited: Set<ObjectIdentifier> = []
        return repairs(visited: &visited)
    }

    private func repairs(visited: inout Set<ObjectIdentifier>) -> [Repair] {
        guard visited.insert(ObjectIdentifier(self)).inserted else { return [] }
        trackSyncState()
        var repairs = tracking.repairs
        for slot in nestedSlots {
            for (path, model) in slot.nestedModels {
                repairs += model.repairs(visited: &visited).map { $0.nested(at: path, in: slot.property) }
            }
        }
        return repairs
    }

    /// Returns the nested object of a property: the live instance, with its merge staged, or a new object.
    static func nested(in json: JSONValue, log: inout RepairLog) throws -> Self {
        let id = try json.modelObject()[idKey].flatMap(ModelID.init(json:))
        guard let context = log.context, let staging = log.staging, let id else {
            let model = try instance(for: json)
            try model.start(with: json, context: log.context, staging: log.staging)
            return model
        }
        if let live = staging.model(self, id: id, in: context) {
            let model: Self = try live.live(for: json)
            _ = log.merge(json, into: model)
            return model
        }
        let model = try instance(for: json)
        model.tracking.context = context
        staging.add(model, id: id)
        try model.start(with: json, context: context, staging: staging)
        return model
    }

    /// Returns this live instance as the requested class, for JSON that has its id.
    ///
    /// - Throws: ``ModelError`` `wrongClass` if the JSON is of another class.
    final func live<M: Model>(for json: JSONValue) throws -> M {
        let concrete = type(of: self).concreteClass(for: try json.modelObject())
        guard let model = self as? M, type(of: self) == concrete else {
            throw ModelError(
                .wrongClass, "the JSON is of class \(concrete), but the live \(modelID) is a \(type(of: self))")
        }
        return model
    }

    /// Returns a new object of the class for the JSON, still with its defaults.
    static func instance(for json: JSONValue) throws -> Self {
        let object = try json.modelObject()
        let concrete = concreteClass(for: object)
        guard let type = concrete as? Self.Type else {
            throw ModelError(.wrongClass, "the JSON is of class \(concrete), which is not a \(Self.self)")
        }
        return type.init()
    }

    /// Reads the values of a new object.
    final func start(with json: JSONValue, context: ModelContext? = nil, staging: Staging? = nil) throws {
        let object = try json.modelObject()
        tracking.context = context
        tracking.members = members(object, in: context)
        tracking.serverID = object[Self.idKey].flatMap(ModelID.init(json:))
        let reading = PropertyVisitor.read(object, into: self, log: RepairLog(context: context, staging: staging))
        tracking.repairs = reading.repairs
        if !reading.hasNested { tracking.nesting = .absent }
        if let context, let time = context.answerTime { noteFirstAnswer(at: time, of: object, in: context) }
        for array in reading.arrays {
            guard let staging else { load(array.values, into: array.core, of: array.property); continue }
            staging.append { self.load(array.values, into: array.core, of: array.property) }
        }
    }

    /// Returns the members of an object, which share their names with those of the last object of the class.
    private func members(_ object: [String: JSONValue], in context: ModelContext?) -> SourceMembers {
        let identity = ObjectIdentifier(type(of: self))
        if let names = context?.memberNames[identity], let members = SourceMembers(object, names: names) {
            return members
        }
        let members = SourceMembers(object)
        context?.memberNames[identity] = members.names
        return members
    }

    private func refuseRepairs() throws {
        let repairs = repairs
        guard !repairs.isEmpty else { return }
        let list = repairs.map(\.description).joined(separator: ", ")
        throw ModelError(.needsRepair, "\(list): read it without `strict`, or correct the JSON", repairs: repairs)
    }
}

extension JSONValue {
    init(modelText text: Data) throws {
        do { try self.init(reading: text, isolatesFaults: true) } catch {
            throw ModelError(.malformed, "the text is not JSON: \(error)")
        }
    }

    func modelObject() throws -> [String: JSONValue] {
        if case .object(let object) = self { return object }
        if let fault { throw ModelError(.malformed, "the JSON object cannot be read: \(fault)") }
        throw ModelError(.malformed, "a model needs a JSON object, and this is \(kindName)")
    }

    func modelText() throws -> Data {
        do { return Data(try writtenText()) } catch { throw ModelError(.notWritable, "\(error)") }
    }
}
