@_exported public import Diamond
public import Observation

/// A JSON object with typed properties, each with a default. Every change can be observed.
///
/// A model is not Sendable: it stays in the isolation domain that created it. Pass its ``json`` or its ``modelID``
/// between domains.
///
/// A subclass declares a ``Property`` constant, storage with the default, and an accessor for each property. It lists
/// the properties in ``visit(_:)``.
open class Model: Observable {
    // Unchecked, because a check takes longer than most accesses, and each access only reads or stores one part.
    @exclusivity(unchecked) @usableFromInline final var tracking = Tracking()
    /// The registrar; `nil` before the first read. What was not read is not observed.
    @exclusivity(unchecked) @usableFromInline final var registrarIfAny: ObservationRegistrar?

    /// Creates a new object with the defaults of its properties.
    public required init() {}

    /// Creates an object outside every context, with the unsaved state that was encoded.
    public required convenience init(from decoder: any Decoder) throws {
        self.init()
        try start(withArchive: decoder.singleValueContainer().decode(JSONValue.self))
    }

    deinit { tracking.context?.forget(tracking.ids, of: type(of: self), being: ObjectIdentifier(self)) }

    /// The registrar, created by the first read; `nil` before it for a rule of a collection.
    @inlinable final var registrar: ObservationRegistrar? { registrarIfAny ?? makeRegistrar() }

    @usableFromInline
    final func makeRegistrar() -> ObservationRegistrar? {
        if UnobservedReading.isActive { return nil }
        let registrar = ObservationRegistrar()
        registrarIfAny = registrar
        return registrar
    }

    /// Notifies the observers of a state.
    final func stateDidChange<Value>(_ keyPath: KeyPath<Model, Value>) {
        registrarIfAny?.withMutation(of: self, keyPath: keyPath) {}
    }

    /// Passes every property to a visitor. An override calls `super`, then passes each of its own properties.
    open func visit(_ visitor: PropertyVisitor) {}

    /// The name of the JSON member with the id. Override it in the class that declares the id, or in a superclass.
    open class var idKey: String { "id" }

    /// Returns the class for a JSON object. A class cluster overrides it to return a subclass.
    open class func concreteClass(for object: ObjectMembers) -> Model.Type { self }

    /// The class within which ids are unique. The subclasses of a class cluster return its base class.
    open class var identityClass: Model.Type { self }

    /// Whether a PATCH has only those members of nested models that were set, as a JSON Merge Patch (RFC 7396).
    /// `false`, the default, writes a changed nested model whole.
    open class var patchesNestedModels: Bool { false }

    /// The number of levels of nested models whose changes the model reports as its own, with their paths.
    open class var observedDepth: Int { 1 }

    /// The request of the list of these objects, such as `Request("cities")`, without paging parameters. `nil`, the
    /// default, uses the request of a collection that contains the object.
    open class var resource: Request? { nil }

    /// Returns the request of a call.
    ///
    /// The default is POST to the list for a new object. GET, PATCH, PUT and DELETE use the list's URL with the id as
    /// an additional last segment. All have the headers and policies of ``resource``.
    ///
    /// - Parameters:
    ///   - call: The call.
    ///   - body: The JSON to send; `nil` for a call without a body.
    /// - Throws: ``ModelError`` `noResource` if there is no URL.
    open func request(for call: ModelCall, body: JSONValue?) throws -> Request {
        try standardRequest(for: call, body: body)
    }

    /// Returns the object in a response to a call; `nil` if there is none. The default is the whole body, and `nil` for
    /// an empty body and for JSON of another kind: a save needs no object, and a load fails with the latter.
    ///
    /// - Throws: An error if the body cannot be read. The call fails with it.
    open class func object(in response: Response) throws -> ObjectMembers? { try response.bodyObject() }

    /// Returns the object in a request from ``request(for:body:)``, or `nil` if it has none: by default the whole body.
    ///
    /// Override it if the request wraps the object. Queued requests are read with it.
    open class func object(in request: Request) throws -> JSONValue? { request.body?.jsonValue }

    /// The name of the class for queued calls. The default is the name of ``identityClass`` with its module.
    ///
    /// If you rename the class while calls may be queued, override it with the old name.
    open class var queueName: String {
        // For a private class, `String(reflecting:)` contains an address that differs between builds.
        String(reflecting: identityClass).split(separator: ".", omittingEmptySubsequences: false)
            .filter { !$0.hasPrefix("(unknown context at $") }.joined(separator: ".")
    }
}

// MARK: Identity

extension Model {
    /// The server's id, or the local id if there is none yet.
    public final var modelID: ModelID { serverID ?? localID }

    /// The id, read without being observed.
    final var untrackedID: ModelID { tracking.serverID ?? localID }

    /// The id from the server; `nil` for a new object.
    public final var serverID: ModelID? {
        registrar?.access(self, keyPath: \Model.serverID)
        return tracking.serverID
    }

    /// The id on this device. It stays valid after the server has assigned an id.
    public final var localID: ModelID {
        if let id = tracking.localID { return id }
        let id = ModelID.makeLocal()
        tracking.localID = id
        return id
    }

    /// Whether the server has not assigned an id yet.
    public final var isNew: Bool {
        registrar?.access(self, keyPath: \Model.isNew)
        return tracking.serverID == nil
    }

    /// The context in which this is the live instance of the object; `nil` for a copy.
    public final var context: ModelContext? { tracking.context }

    /// Removes the model from every collection.
    public final func leaveCollections() {
        for link in links { link.leave() }
    }

    var links: [OwnerLink] { tracking.links.map { $0.takeUnretainedValue() } }

    /// The links in the order in which they were made.
    final var orderedLinks: [OwnerLink] { links.sorted { $0.number < $1.number } }
}
