import Diamond
import Foundation
import Observation

/// A type-erased collection. Keeps the implementation out of generic code.
@usableFromInline
final class CollectionCore {
    let type: Model.Type
    var context: ModelContext? {
        didSet { if context !== oldValue { markDeleted() } }
    }

    private(set) var entries: [ModelID: Entry] = [:]
    var order = InsertionOrder()
    /// The visible sections in order. Always one without a section rule.
    var sections: [SectionRecord] = [] {
        didSet {
            hasOtherSections = true
            cachedOffsets = nil
        }
    }
    /// The sections at the last commit.
    private(set) var committed: [SectionRecord] = []
    var sectionsByKey: [String: SectionRecord] = [:]
    /// Whether there are other sections than at the last commit, or in another order.
    private(set) var hasOtherSections = false
    /// The sections with rows that were inserted or removed since the last commit.
    private(set) var changedSections: [SectionRecord] = []
    /// The numbers of rows of the sections at the last commit.
    private(set) var oldCounts: [Int] = []
    private var cachedOffsets: [Int]?

    /// The filters. A visible model passes all of them.
    var filters: [(Model) -> Bool] = []
    var sorts: [SortRule] = []
    var sectionRule: SectionRules?

    var rejected: [Rejection] = [] {
        didSet { hasOtherRejections = true }
    }
    /// Whether ``rejected`` was set in this transaction.
    private var hasOtherRejections = false
    /// The number of commits.
    private(set) var generation = 0
    /// The maximum number of operations of a change set. A change set with more is a reset.
    var resetLimit = 1000
    /// The number of levels of nested models whose changes update their rows.
    var observedDepth = 1
    /// Whether models were added, removed or moved since the last sync.
    var hasChangedMembers = false {
        didSet {
            if hasChangedMembers != oldValue {
                syncedIDs = hasChangedMembers ? ids : nil
                hasToggledDirtiness = true
                reportDirtiness()
            }
            guard hasChangedMembers else { return }
            hasOtherMembers = true
            memberChanges += 1
        }
    }
    /// The number of unsaved changes of members.
    private(set) var memberChanges = 0
    /// The ids of the members that the server has, in order, while other ones are set here; `nil` if they are unknown.
    var syncedIDs: [ModelID]?
    /// Whether the server has confirmed the changes of members that are being made.
    var isConfirming = false
    /// Whether models were added, removed or moved in this transaction.
    var hasOtherMembers = false
    /// Whether ``hasChangedMembers`` has changed, and the owner was not notified yet.
    private var hasToggledDirtiness = false

    // MARK: The transaction

    private var depth = 0
    /// The number of models whose changes are being reported.
    private var reports = 0
    /// The rows whose models may change.
    private var waiting: [Entry] = []
    private(set) var origin: ChangeOrigin?
    private(set) var touched: [Entry] = []
    private var hasBegun = false
    private(set) var snapshot: [(section: SectionRecord, entries: [Entry])]?

    // MARK: Observers

    let willObservers = Observers<Void>()
    let didObservers = Observers<CollectionChanges>()
    let modelObservers = Observers<ModelEvent>()
    /// The histories that record the collection.
    let editObservers = Observers<CollectionEdit.Report>()
    /// Whether the collection is reading JSON, whose changes are not the user's.
    var isReading = false
    private var undelivered: [CollectionChanges] = []
    private var isDelivering = false
    /// The state of loading, created on first use.
    private(set) var pagerIfAny: Pager?
    /// The new models of the page that is about to be applied.
    var preparation: PagePreparation?
    /// The collection that this is the core of. It sets `nil` when it is deallocated.
    unowned(unsafe) var collection: (any ObservedContent)?
    private weak var owner: Model?
    private var ownerProperty: AnyProperty?

    init(of type: Model.Type, context: ModelContext?) {
        self.type = type
        self.context = context
        makeSections()
        settle()
    }

    deinit {
        for entry in order { entry.detach() }
        for entry in touched { entry.detach() }
    }
}

/// The observable content of a collection.
protocol ObservedContent: AnyObject {
    func willChangeContent()
    func didChangeContent()
    func track()
}

// MARK: Reading

extension CollectionCore {
    var pager: Pager {
        if let pagerIfAny { return pagerIfAny }
        let pager = Pager(now: { [weak self] in self?.context?.now() ?? Date() })
        pagerIfAny = pager
        return pager
    }

    /// The number of visible models.
    var visibleCount: Int { sections.count == 1 ? sections[0].rows.count : offsets[sections.count] }

    /// The index of the first row of each section, followed by the number of rows.
    var offsets: [Int] {
        if let cachedOffsets { return cachedOffsets }
        var offsets = [0]
        for section in sections { offsets.append(offsets[offsets.count - 1] + section.rows.count) }
        cachedOffsets = offsets
        return offsets
    }

    func path(at index: Int) -> RowPath {
        if sections.count == 1 { return RowPath(section: 0, row: index) }
        let offsets = offsets
        var low = 0
        var high = sections.count
        // The last section that starts at or before the index. Empty sections before it have the same offset.
        while high - low > 1 {
            let middle = (low + high) / 2
            if offsets[middle] <= index { low = middle } else { high = middle }
        }
        return RowPath(section: low, row: index - offsets[low])
    }

    func model(at path: RowPath) -> Model { sections[path.section].rows[path.row].model }

    func contains(_ path: RowPath) -> Bool {
        sections.indices.contains(path.section) && (0..<sections[path.section].rows.count).contains(path.row)
    }

    func path(of model: Model) -> RowPath? {
        guard let entry = entry(of: model), let section = entry.section else { return nil }
        let index = hasOtherSections ? sections.firstIndex { $0 === section } ?? 0 : section.index
        return section.rows.newIndex(of: entry).map { RowPath(section: index, row: $0) }
    }

    func index(of model: Model) -> Int? {
        path(of: model).map { (sections.count == 1 ? 0 : offsets[$0.section]) + $0.row }
    }

    /// Returns the entry of a member.
    func entry(of model: Model) -> Entry? {
        for link in model.tracking.links {
            if let entry = link.takeUnretainedValue() as? Entry, entry.owner === self, entry.isMember { return entry }
        }
        return nil
    }

    var visibleModels: [Model] { sections.flatMap { $0.rows.entries.map(\.model) } }

    /// All models in insertion order, including filtered ones.
    var allModels: [Model] { order.map(\.model) }
}

// MARK: Transactions

extension CollectionCore {
    func transaction<Result, Failure: Error>(
        origin: ChangeOrigin? = nil, _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        beginTransaction(origin: origin)
        defer { endTransaction() }
        return try body()
    }

    /// Begins a transaction. The caller ends it with ``endTransaction()``.
    func beginTransaction(origin: ChangeOrigin? = nil) {
        if depth == 0 { self.origin = origin }
        depth += 1
    }

    func endTransaction() {
        depth -= 1
        guard depth == 0 else { return }
        reportRejections()
        commit()
        report(.ended)
        reportDirtiness()
    }

    /// Runs a transaction whose changes are not the user's.
    func reading(_ body: () -> Void) {
        let outer = isReading
        isReading = true
        defer { isReading = outer }
        transaction(body)
    }

    var isInTransaction: Bool { depth > 0 }

    // MARK: Waiting for events

    /// Whether changes of models are being reported. Their rows are updated at the end, all together.
    var isWaiting: Bool { reports > 0 }

    func addCollections(to waiting: inout WaitingCollections) { owner?.addCollections(to: &waiting) }

    func beginWaiting() {
        beginTransaction()
        reports += 1
    }

    /// Marks a row whose model may change.
    func wait(for entry: Entry) {
        guard !entry.isWaiting else { return }
        entry.isWaiting = true
        waiting.append(entry)
    }

    func endWaiting() {
        reports -= 1
        if reports == 0 { updateWaiting() }
        endTransaction()
    }

    private func updateWaiting() {
        let entries = waiting
        waiting = []
        for entry in entries { entry.isWaiting = false }
        let changed = entries.filter(\.isChanged)
        for entry in changed { entry.isChanged = false }
        updateRows(of: changed)
    }

    /// Marks an entry as changed in this transaction.
    func touch(_ entry: Entry) {
        begin()
        guard !entry.isTouched else { return }
        entry.isTouched = true
        touched.append(entry)
    }

    /// Notifies the observers of ``rejected``, unless the rows have changed, too.
    private func reportRejections() {
        guard hasOtherRejections else { return }
        hasOtherRejections = false
        if hasBegun { return }
        collection?.willChangeContent()
        collection?.didChangeContent()
    }

    private func begin() {
        guard !hasBegun else { return }
        hasBegun = true
        collection?.willChangeContent()
        willObservers.notify(())
    }

    private func commit() {
        guard hasBegun else { return }
        dropEmptySections()
        let changes = didObservers.isEmpty ? nil : changes()
        let hadOtherMembers = hasOtherMembers
        settle()
        collection?.didChangeContent()
        if let changes { deliver(changes) }
        // Changes of models have already been forwarded to the owner.
        if hadOtherMembers { notifyOwner() }
    }

    private func deliver(_ changes: CollectionChanges) {
        if isDelivering { return undelivered.append(changes) }
        isDelivering = true
        didObservers.notify(changes)
        while !undelivered.isEmpty { didObservers.notify(undelivered.removeFirst()) }
        isDelivering = false
    }

    /// Makes the current state the last committed one.
    private func settle() {
        for section in changedSections { section.rows.commit() }
        if hasOtherSections || !changedSections.isEmpty || snapshot != nil { oldCounts = sections.map(\.rows.count) }
        changedSections.removeAll(keepingCapacity: true)
        if hasOtherSections {
            for section in committed { section.oldIndex = nil }
            for (index, section) in sections.enumerated() { (section.oldIndex, section.index) = (index, index) }
            committed = sections
            hasOtherSections = false
        }
        for entry in touched {
            entry.commitPlace()
            entry.isTouched = false
            entry.isUpdated = false
            if !entry.isMember { entry.detach() }
        }
        if snapshot != nil { for entry in order { entry.commitPlace() } }
        snapshot = nil
        touched.removeAll(keepingCapacity: touched.count < 100)
        hasBegun = false
        hasOtherMembers = false
        generation += 1
    }

    /// Saves the rows of the last commit, before all rows are rearranged.
    func takeSnapshot() {
        begin()
        if snapshot == nil { snapshot = committed.map { ($0, $0.rows.oldEntries) } }
    }

    /// Called before rows of a section are inserted or removed.
    func rowsWillChange(in section: SectionRecord) {
        cachedOffsets = nil
        if !section.rows.isTouched { changedSections.append(section) }
    }
}

// MARK: Entries

extension CollectionCore {
    func enter(_ entry: Entry) { entries[entry.model.modelID] = entry }

    func forget(_ entry: Entry) { entries[entry.model.modelID] = nil }

    func rekey(_ entry: Entry, from old: ModelID, to new: ModelID) {
        guard entry.isMember else { return }
        if entries[old] === entry { entries[old] = nil }
        entries[new] = entry
        // The context still finds a local id.
        if !old.isLocal, let index = syncedIDs?.firstIndex(of: old) { syncedIDs?[index] = new }
    }
}

// MARK: The owner

extension CollectionCore {
    func setOwner(_ model: Model, at property: AnyProperty) {
        owner = model
        ownerProperty = property
        if context == nil { context = model.context }
    }

    /// The model that has the collection in a property.
    var ownerIfAny: Model? { owner }

    private func notifyOwner() {
        guard let owner, let ownerProperty else { return }
        let change = PropertyChange(property: ownerProperty, of: nil, old: generation - 1, new: generation)
        owner.receive(collection: change)
    }

    /// Notifies observers and the owner outside a transaction, because they may read the collection.
    private func reportDirtiness() {
        guard depth == 0, hasToggledDirtiness else { return }
        hasToggledDirtiness = false
        collection?.willChangeContent()
        collection?.didChangeContent()
        owner?.nestedDirtinessDidChange()
    }

    func forward(_ event: ModelEvent) {
        if !event.changes.isEmpty {
            modelObservers.notify(event)
            report(.changed(event))
        }
        if let ownerProperty, let owner { owner.receive(event, from: ownerProperty) }
    }
}
