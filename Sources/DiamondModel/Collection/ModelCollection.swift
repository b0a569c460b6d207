import Diamond
public import Observation

/// An ordered set of models of one class, unique by id, that reports its exact changes.
///
/// The models that pass the ``filters`` are visible: they are the collection's rows. Rows are ordered by ``sortKeys``,
/// or by insertion without sort keys, in the sections of ``sectionRule``. Indexes and paths count rows. Filtered models
/// stay in the collection.
///
/// A collection is not Sendable. It belongs to the isolation domain of its models.
public final class ModelCollection<Object: Model>: Observable, ObservedContent {
    let core: CollectionCore
    private let registrar = ObservationRegistrar()
    // Created once, because creating a key path of a generic class is slow.
    private let contentKeyPath: KeyPath<ModelCollection, Int> = \.generation

    /// Creates an empty collection.
    ///
    /// - Parameter context: The context for JSON. Without one, the collection uses the context of its first model.
    public init(context: ModelContext? = nil) {
        core = CollectionCore(of: Object.self, context: context)
        core.collection = self
    }

    deinit { core.collection = nil }

    /// Creates a collection of models.
    ///
    /// - Throws: ``ModelError`` as ``add(_:)`` does.
    public convenience init(_ models: some Sequence<Object>, context: ModelContext? = nil) throws {
        self.init(context: context)
        try transaction {
            for model in models { try add(model) }
        }
    }

    /// The names of the filters that were active when the collection was encoded.
    var savedFilters: [String] = []
    /// The names of the sort keys that were active when the collection was encoded, in order.
    var savedSortKeys: [String] = []

    func willChangeContent() { registrar.willSet(self, keyPath: contentKeyPath) }
    func didChangeContent() { registrar.didSet(self, keyPath: contentKeyPath) }

    func track() { registrar.access(self, keyPath: contentKeyPath) }

    // MARK: Rules

    /// The filters by name. A visible model passes all of them.
    public var filters: [String: Filter<Object>] = [:] {
        didSet {
            core.filters = filters.values.map { filter in
                { filter.isPassed(unsafeDowncast($0, to: Object.self)) }
            }
            core.filtersDidChange()
        }
    }

    /// The sort criteria, most important first. Without any, rows are in insertion order.
    public var sortKeys: [SortKey<Object>] = [] {
        didSet {
            core.sorts = sortKeys.map(\.rule)
            core.sort()
        }
    }

    /// The division into sections; `nil` for one section.
    public var sectionRule: SectionRule<Object>? {
        didSet {
            sectionRuleNumber += 1
            core.sectionRule = sectionRule?.erased
            core.sort()
        }
    }

    /// The number of section rules that were set so far.
    package private(set) var sectionRuleNumber = 0

    /// Sorts all rows, including rows that were inserted or moved by index.
    public func sort() { core.sort() }

    /// The maximum number of operations in a change set. Above it, ``ChangeSet/isReset`` is `true`. 1,000 by default.
    public var resetLimit: Int {
        get { core.resetLimit }
        set { core.resetLimit = newValue }
    }

    /// The number of levels of nested models whose changes update the rows that hold them. 1 by default.
    public var observedDepth: Int {
        get { core.observedDepth }
        set { core.observedDepth = newValue }
    }

    /// Whether a loaded page of more than 1,000 rows or 256 KiB is applied at once, in one change set. `false`, the
    /// default, applies it in pieces of at most 150 rows, between which other work of the isolation domain runs. Each
    /// piece is a change set.
    public var appliesPagesAtOnce: Bool {
        get { core.appliesPagesAtOnce }
        set { core.appliesPagesAtOnce = newValue }
    }

    /// The context of the models; `nil` if they are copies.
    public var context: ModelContext? { core.context }

    /// The number of the current state. Every change set increases it by one.
    public var generation: Int {
        track()
        return core.generation
    }

    // MARK: Transactions and observers

    /// Runs `body`, and reports all its changes in one change set with the given origin.
    public func transaction<Result, Failure: Error>(
        origin: ChangeOrigin? = nil, _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try core.transaction(origin: origin, body)
    }

    /// Calls `receive` with the change set of every transaction, until the token is deallocated.
    ///
    /// If an observer changes the collection, all observers receive that change set after the current one.
    public func observe(_ receive: @escaping (ChangeSet<Object>) -> Void) -> ObserverToken {
        core.didObservers.add { receive(ChangeSet(core: $0)) }
    }

    /// Calls `receive` twice for every transaction, until the token is deallocated: before its first change, and with
    /// its change set.
    public func observeEvents(_ receive: @escaping (CollectionEvent<Object>) -> Void) -> ObserverToken {
        let will = core.willObservers.add { receive(.willChange) }
        let did = core.didObservers.add { receive(.didChange(ChangeSet(core: $0))) }
        return ObserverToken {
            will.cancel()
            did.cancel()
        }
    }

    /// Calls `receive` with the events of all models in the collection, until the token is deallocated.
    public func observeModels(_ receive: @escaping (ModelEvent) -> Void) -> ObserverToken {
        core.modelObservers.add(receive)
    }

    /// Returns the change sets of later transactions, for one consumer in the collection's isolation domain.
    ///
    /// Change sets are buffered without limit until the consumer reads them. The sequence ends when the collection is
    /// deallocated, or when the consumer's task is canceled.
    public func changes() -> some AsyncSequence<ChangeSet<Object>, Never> {
        EventSequence(of: core.didObservers) { ChangeSet(core: $0) }
    }
}

@available(*, unavailable)
extension ModelCollection: Sendable {}
