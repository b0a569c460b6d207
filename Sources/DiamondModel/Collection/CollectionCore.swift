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

    // Unchecked, because a list is filled with many accesses for each row, and each only reads or stores one part.
    @exclusivity(unchecked) private(set) var entries: [ModelID: Entry] = [:]
    @exclusivity(unchecked) var order = InsertionOrder()
    /// The visible sections in order. Always one without a section rule.
    var sections: [SectionRecord] = [] {
        didSet {
            hasOtherSections = true
            cachedOffsets = nil
        }
    }
    /// The sections at the last commit.
    var committed: [SectionRecord] = []
    var sectionsByKey: [String: SectionRecord] = [:]
    /// Whether there are other sections than at the last commit, or in another order.
    var hasOtherSections = false
    /// The sections with rows that were inserted or removed since the last commit.
    @exclusivity(unchecked) var changedSections: [SectionRecord] = []
    /// The numbers of rows of the sections at the last commit.
    var oldCounts: [Int] = []
    var cachedOffsets: [Int]?

    /// The filters. A visible model passes all of them.
    var filters: [(Model) -> Bool] = []
    var sorts: [SortRule] = []
    var sectionRule: SectionRule<Model>?

    var rejected: [Rejection] = [] {
        didSet { hasOtherRejections = true }
    }
    /// Whether ``rejected`` was set in this transaction.
    var hasOtherRejections = false
    /// The number of commits.
    var generation = 0
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

    var depth = 0
    /// The number of models whose changes are being reported.
    var reports = 0
    /// The rows whose models may change.
    var waiting: [Entry] = []
    var origin: ChangeOrigin?
    @exclusivity(unchecked) var touched: [Entry] = []
    var hasBegun = false
    var snapshot: [(section: SectionRecord, entries: [Entry])]?

    // MARK: Observers

    let willObservers = Observers<Void>()
    let didObservers = Observers<CollectionChanges>()
    let modelObservers = Observers<ModelEvent>()
    /// The histories that record the collection.
    let editObservers = Observers<EditReport>()
    /// Whether the collection is reading JSON, whose changes are not the user's.
    var isReading = false
    var undelivered: [CollectionChanges] = []
    var isDelivering = false
    /// The state of loading, created on first use.
    private(set) var pagerIfAny: Pager?
    /// The new models of the page that is about to be applied.
    var preparation: PagePreparation?
    /// The page that is being applied in pieces.
    var application: PageApplication?
    /// Whether a page is applied at once.
    var appliesPagesAtOnce = false
    /// The collection that this is the core of. It sets `nil` when it is deallocated.
    unowned(unsafe) var collection: (any ObservedContent)?
    /// The model that has the collection in a property.
    private(set) weak var owner: Model?
    private var ownerProperty: AnyProperty?

    init(of type: Model.Type, context: ModelContext?) {
        self.type = type
        self.context = context
        makeSections()
        commitRows()
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
        // The last section that starts at or before the index. Empty sections before it have the same offset.
        let section = offsets.dropLast().partitionPoint { $0 <= index } - 1
        return RowPath(section: section, row: index - offsets[section])
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

// MARK: Entries

extension CollectionCore {
    func reserveEntries(_ count: Int) { entries.reserveCapacity(count) }

    func enter(_ entry: Entry) { entries[entry.model.untrackedID] = entry }

    func forget(_ entry: Entry) { entries[entry.model.untrackedID] = nil }

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

    func notifyOwner() {
        guard let owner, let ownerProperty else { return }
        let change = PropertyChange(property: ownerProperty, holder: nil, old: generation - 1, new: generation)
        owner.receive(collection: change)
    }

    /// Notifies observers and the owner outside a transaction, because they may read the collection.
    func reportDirtiness() {
        guard depth == 0, hasToggledDirtiness else { return }
        hasToggledDirtiness = false
        collection?.willChangeContent()
        collection?.didChangeContent()
        owner?.nestedDirtinessDidChange()
    }

    func forward(_ event: ModelEvent) {
        if !event.changes.isEmpty {
            modelObservers.notify(event)
            report(Edit.edits(in: event))
        }
        if let ownerProperty, let owner { owner.receive(event, from: ownerProperty) }
    }
}
