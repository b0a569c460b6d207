import Diamond
public import Observation

/// An ordered set of models of one class, by id, that tells its exact changes.
///
/// The models that pass the ``filters`` are on show: its rows. They stand in the order of ``sortKeys`` or else of their
/// insertion, in the sections of ``sectionRule``. Indexes and paths count rows. The other models stay in the collection.
///
/// A collection is not Sendable. It belongs to the isolation domain of its models.
public final class ModelCollection<Object: Model>: Observable {
    let core: CollectionCore
    private let registrar = ObservationRegistrar()
    // Made once: a key path of a generic class is costly to make.
    private let contentKeyPath: KeyPath<ModelCollection, Int> = \.generation

    /// Creates an empty collection.
    ///
    /// - Parameter context: the context that JSON is read into. Without one the collection takes that of its first model.
    public init(context: ModelContext? = nil) {
        core = CollectionCore(of: Object.self, context: context)
        core.willObserve = { [weak self] in self?.willChangeContent() }
        core.didObserve = { [weak self] in self?.didChangeContent() }
    }

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
    public internal(set) var savedFilters: [String] = []
    /// The names of the sort keys that were in force when the collection was encoded, in their order.
    public internal(set) var savedSortKeys: [String] = []

    private func willChangeContent() { registrar.willSet(self, keyPath: contentKeyPath) }
    private func didChangeContent() { registrar.didSet(self, keyPath: contentKeyPath) }

    func track() { registrar.access(self, keyPath: contentKeyPath) }

    // MARK: Rules

    /// The filters by their names. A row passes all of them.
    public var filters: [String: Filter<Object>] = [:] {
        didSet {
            core.filters = filters.values.map { filter in
                { filter.isPassed(unsafeDowncast($0, to: Object.self)) }
            }
            core.filtersDidChange()
        }
    }

    /// The criteria of the order, the most important first. Without any it is the insertion order.
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
            core.sectionRule = sectionRule?.rules
            core.sort()
        }
    }

    /// The number of section rules so far.
    private(set) var sectionRuleNumber = 0

    /// Sorts all rows. Rows that were put in or moved by index give up their places.
    public func sort() { core.sort() }

    /// The most operations that a change set names; beyond it asks to reload everything. 1,000 by default.
    public var resetLimit: Int {
        get { core.resetLimit }
        set { core.resetLimit = newValue }
    }

    /// The number of levels of nested models whose changes update the rows that hold them. 1 by default.
    public var observedDepth: Int {
        get { core.observedDepth }
        set { core.observedDepth = newValue }
    }

    /// The context of the models; `nil` when they are copies.
    public var context: ModelContext? { core.context }

    /// The number of the state, which every change set raises by one.
    public var generation: Int { core.generation }

    // MARK: Transactions and observers

    /// Runs `body`, and tells all its changes in one change set, which names `origin` as its origin.
    public func transaction<Result, Failure: Error>(
        origin: ChangeOrigin? = nil, _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try core.transaction(origin: origin, body)
    }

    /// Calls `receive` with the change set of every transaction, until the token is dropped.
    ///
    /// An observer that changes the collection causes another change set, which all hear after the present one.
    public func observe(_ receive: @escaping (ChangeSet<Object>) -> Void) -> ObserverToken {
        core.didObservers.add { receive(ChangeSet(core: $0)) }
    }

    /// Calls `receive` before the first change of every transaction and with its change set, until the token is dropped.
    public func observeEvents(_ receive: @escaping (CollectionEvent<Object>) -> Void) -> ObserverToken {
        let will = core.willObservers.add { receive(.willChange) }
        let did = core.didObservers.add { receive(.didChange(ChangeSet(core: $0))) }
        return ObserverToken {
            will.cancel()
            did.cancel()
        }
    }

    /// Calls `receive` with the events of all models in the collection, until the token is dropped.
    public func observeModels(_ receive: @escaping (ModelEvent) -> Void) -> ObserverToken {
        core.modelObservers.add(receive)
    }

    /// The change sets from now on.
    public func changes() -> EventSequence<ChangeSet<Object>> {
        EventSequence { buffer in
            core.didObservers.add(
                { [weak buffer] in buffer?.append(ChangeSet(core: $0)) }, finish: { [weak buffer] in buffer?.finish() })
        }
    }
}

@available(*, unavailable)
extension ModelCollection: Sendable {}
