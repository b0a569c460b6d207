/// The JSON form of a replay policy, under `replay` in that of a request:
///
/// ```json
/// {"mode": "durable", "orderingKey": "cart-7", "order": "strict", "priority": 1, "attempts": 20, "expiry": 604800,
///  "keyLifetime": 86400, "unique": "profile", "uniqueness": "replace", "kind": "CreateNote",
///  "call": "{\"text\":\"milk\"}", "metadata": {"screen": "cart"}}
/// ```
///
/// `call` is JSON as text, so that every number keeps its digits.
/// Times are in seconds. A `null` for `expiry` means no limit. A `null` for `keyLifetime` means a server that honors no
/// `Idempotency-Key`. A missing key has its default. An unknown key is an error.
extension ReplayPolicy: Written {
    init(written: JSONValue) throws(RequestError) {
        self.init(.never)
        var form = try WrittenObject(written, in: "the replay policy")
        if let name = try form.string("mode") { mode = try form.choice(name, for: "mode") }
        orderingKey = try form.string("orderingKey")
        if let name = try form.string("order") { order = try form.choice(name, for: "order") }
        priority = try form.integer("priority", in: Self.allowedPriorities) ?? priority
        attempts = try form.integer("attempts", in: Self.allowedAttempts) ?? attempts
        expiry = try form.duration("expiry", default: expiry)
        keyLifetime = try form.duration("keyLifetime", default: keyLifetime)
        unique = try form.string("unique")
        if let name = try form.string("uniqueness") {
            // Earlier versions wrote `replace` also by the name that other queues use.
            uniqueness = name == "appendAfterRunning" ? .replace : try form.choice(name, for: "uniqueness")
        }
        kind = try form.string("kind")
        call = try Self.call(&form)
        storesAnswer = try form.boolean("keepsAnswer")
        awaits = Set(try form.strings("awaits"))
        if let value = form.consume("creates") { creates = try ReplayCreation(written: value) }
        let awaitsOwnID = try form.boolean("awaitsID")
        if let value = form.consume("metadata") { metadata = try Self.metadata(value, in: form) }
        // Earlier versions wrote only that the request needs the id of its own object.
        if awaitsOwnID, case .string(let localID)? = metadata["localID"] { awaits.insert(localID) }
        try form.finish()
    }

    private static func call(_ form: inout WrittenObject) throws(RequestError) -> String? {
        guard let call = try form.string("call") else { return nil }
        guard call.utf8.count <= longestCall else {
            throw form.failure(at: "call", "is longer than \(longestCall) bytes: leave it out")
        }
        return call
    }

    private static func metadata(
        _ value: JSONValue, in form: WrittenObject
    ) throws(RequestError) -> [String: JSONValue] {
        guard case .object(let members) = value else {
            throw form.failure(at: "metadata", "is \(value.kind): write an object, {…}")
        }
        return members
    }

    var written: JSONValue {
        let usual = Self.never
        var members: [String: JSONValue] = ["mode": .string(mode.rawValue)]
        if let orderingKey { members["orderingKey"] = .string(orderingKey) }
        if order != usual.order { members["order"] = .string(order.rawValue) }
        if priority != usual.priority { members["priority"] = JSONValue(priority) }
        if attempts != usual.attempts { members["attempts"] = JSONValue(attempts) }
        for (key, path) in Self.limits where self[keyPath: path] != usual[keyPath: path] {
            members[key] = self[keyPath: path].map { .number($0.writtenSeconds) } ?? .null
        }
        if let unique { members["unique"] = .string(unique) }
        if uniqueness != usual.uniqueness { members["uniqueness"] = .string(uniqueness.rawValue) }
        if let kind { members["kind"] = .string(kind) }
        if let call { members["call"] = .string(call) }
        if storesAnswer { members["keepsAnswer"] = .bool(true) }
        if !awaits.isEmpty { members["awaits"] = .array(awaits.sorted().map { .string($0) }) }
        if let creates { members["creates"] = creates.written }
        if !metadata.isEmpty { members["metadata"] = .object(metadata) }
        return .object(members)
    }

    private static var limits: [(String, KeyPath<Self, Duration?>)] {
        [("expiry", \.expiry), ("keyLifetime", \.keyLifetime)]
    }
}
