/// The collections above a model while its changes are reported.
///
/// Each of them holds a transaction open until all its rows have received the event: a search among the rows needs them
/// in order, so all changed rows leave before one enters.
struct WaitingCollections {
    private var cores: [CollectionCore] = []
    private var known: Set<ObjectIdentifier> = []

    /// Marks the rows above a model.
    init(above model: Model) { model.addCollections(to: &self) }

    mutating func add(_ core: CollectionCore) {
        if cores.last === core { return }
        // Usually there is one collection.
        if let first = cores.first {
            if known.isEmpty { known = [ObjectIdentifier(first)] }
            if !known.insert(ObjectIdentifier(core)).inserted { return }
        }
        cores.append(core)
        core.beginWaiting()
    }

    /// Places the changed rows again, and ends the transactions.
    func end() { for core in cores { core.endWaiting() } }
}
