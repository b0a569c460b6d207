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
        try self.init(item: .value(json), strict: strict)
    }

    /// Creates an object from a JSON text, outside every context.
    ///
    /// - Throws: ``ModelError`` for text that is not a JSON object, or that `strict` refuses.
    public convenience init(json text: Data, strict: Bool = false) throws {
        try self.init(item: JSONItem(modelText: text), strict: strict)
    }

    private convenience init(item: JSONItem, strict: Bool) throws {
        self.init()
        try start(with: item.modelObject())
        if strict { try refuseRepairs() }
    }

    /// Creates an object of the class that ``concreteClass(for:)`` returns, outside every context. For class clusters.
    ///
    /// - Throws: ``ModelError`` for JSON that is not an object, or whose class is no subclass of this class.
    public static func decoded(from json: JSONValue) throws -> Self {
        try decoded(from: ObjectMembers(json.modelObject()))
    }

    static func decoded(from object: ObjectMembers, readers: ObjectReaders? = nil) throws -> Self {
        let model = try instance(for: object)
        try model.start(with: object, readers: readers)
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
    static func nested(in json: JSONItem, log: inout RepairLog) throws -> Self {
        let object = try json.modelObject()
        guard let context = log.context, let staging = log.staging, let id = object.id(at: idKey) else {
            let model = try instance(for: object)
            try model.start(with: object, context: log.context, staging: log.staging, readers: log.readers)
            return model
        }
        if let live = staging.model(self, id: id, in: context) {
            let model: Self = try live.live(for: object)
            _ = log.merge(json, into: model)
            return model
        }
        let model = try instance(for: object)
        model.tracking.context = context
        staging.add(model, id: id)
        try model.start(with: object, context: context, staging: staging)
        return model
    }

    /// Returns this live instance as the requested class, for JSON that has its id.
    ///
    /// - Throws: ``ModelError`` `wrongClass` if the JSON is of another class.
    final func live<M: Model>(for object: ObjectMembers) throws -> M {
        let concrete = type(of: self).concreteClass(for: object)
        guard let model = self as? M, type(of: self) == concrete else {
            throw ModelError(
                .wrongClass, "the JSON is of class \(concrete), but the live \(modelID) is a \(type(of: self))")
        }
        return model
    }

    /// Returns a new object of the class for the JSON, still with its defaults.
    static func instance(for object: ObjectMembers) throws -> Self {
        let concrete = concreteClass(for: object)
        guard let type = concrete as? Self.Type else {
            throw ModelError(.wrongClass, "the JSON is of class \(concrete), which is not a \(Self.self)")
        }
        return type.init()
    }

    /// Reads the values of a new object.
    ///
    /// - Parameters:
    ///   - id: The id in the object, if it was read.
    ///   - readers: The readers of a list without a context. Those of the context are used otherwise.
    final func start(
        with object: ObjectMembers, id: ModelID? = nil, context: ModelContext? = nil, staging: Staging? = nil,
        readers: ObjectReaders? = nil
    ) throws {
        if let context { tracking.context = context }
        let readers = context?.readers ?? readers ?? ObjectReaders()
        let type = type(of: self)
        tracking.members = readers.members(object, of: type)
        tracking.serverID = id ?? object.id(at: type.idKey)
        let reading = readers.read(object, into: self, context: context, staging: staging)
        tracking.repairs = reading.repairs
        if !reading.hasNested { tracking.nesting = .absent }
        if let context, let time = context.answerTime { noteFirstAnswer(at: time, of: object, in: context) }
        for array in reading.arrays {
            guard let staging else {
                load(array.values, into: array.core, of: array.property, readers: readers)
                continue
            }
            staging.append { self.load(array.values, into: array.core, of: array.property) }
        }
    }

    private func refuseRepairs() throws {
        let repairs = repairs
        guard !repairs.isEmpty else { return }
        let list = repairs.map(\.description).joined(separator: ", ")
        throw ModelError(.needsRepair, "\(list): read it without `strict`, or correct the JSON", repairs: repairs)
    }
}

extension JSONItem {
    init(modelText text: Data) throws {
        do { try self.init(reading: text) } catch { throw ModelError(.malformed, "the text is not JSON: \(error)") }
    }

    /// Returns the members of an object.
    func modelObject() throws -> ObjectMembers {
        if let members = ObjectMembers(self) { return members }
        return try ObjectMembers(value.modelObject())
    }
}

extension JSONValue {
    func modelObject() throws -> [String: JSONValue] {
        if case .object(let object) = self { return object }
        if let fault { throw ModelError(.malformed, "the JSON object cannot be read: \(fault)") }
        throw ModelError(.malformed, "a model needs a JSON object, and this is \(kindName)")
    }
}
