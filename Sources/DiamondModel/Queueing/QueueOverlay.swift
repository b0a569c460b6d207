import Diamond

/// The state of a context that shows what waits in the queue.
struct QueueOverlay {
    /// A call that was not accepted, and whose object was not live then.
    struct RefusedCall {
        let jobID: ReplayJob.ID
        let subject: QueuedSubject
        let identity: String?
        let object: [String: JSONValue]
        let failure: SaveFailure
    }

    var calls = WaitingCalls()
    /// The refused calls whose objects have not become live since.
    var refused: [RefusedCall] = []
    /// The classes of live new objects that were created by calls whose answers another context has applied.
    var createdElsewhere: Set<String> = []
    /// The engine of the last queued call, for a context without an engine.
    var engine: Engine?
    /// The queue that is observed, if its file exists.
    var queue: ReplayQueue?
    var watch: TransitionWatch?
    /// Whether the next read has to read all calls, because an earlier one has failed, or there was none.
    var mustReadAll = true
    /// The version by others (`TransitionWatch`) before the last read of all calls; `nil` if it was not known.
    var version: Int64?
    /// Whether the queue was looked for.
    var isSought = false
    /// The number of changes of the context's identities (``ContextIdentities``) that were taken into account.
    var identityChanges = 0
    /// The task that waits for changes of the queue.
    var following: Task<Void, Never>?
    /// The list that is being read. Objects of classes without a URL belong to it.
    var list: String?
    /// The names of the classes in the queue.
    private var names: [ObjectIdentifier: String] = [:]
    /// The known classes by their names.
    private(set) var classes: [String: Model.Type] = [:]

    /// Reads the queue of an engine from now on. For a context without an engine.
    mutating func use(_ engine: Engine) {
        if self.engine === engine { return }
        following?.cancel()
        self.engine = engine
        queue = nil
        watch = nil
        following = nil
        mustReadAll = true
    }

    /// Returns the name of a class in the queue.
    mutating func name(of type: Model.Type) -> String {
        if let name = names[ObjectIdentifier(type)] { return name }
        let name = type.queueName
        names[ObjectIdentifier(type)] = name
        if classes[name] == nil { classes[name] = type.identityClass }
        return name
    }
}
