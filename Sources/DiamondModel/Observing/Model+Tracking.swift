import Diamond
import Observation

/// The observation of values that are derived from several properties, or from the state of the sync.
extension Model {
    /// Registers that all properties, their dirty bits and the repairs are read.
    final func track(_ slots: [PropertyVisitor.Slot]) {
        for slot in slots { slot.property.access(on: self) }
        trackSyncState()
    }

    /// Registers that the state of the sync is read: the dirty bits, the repairs, the rejections and the last JSON.
    final func trackSyncState() { registrar?.access(self, keyPath: \Model.repairs) }

    /// Notifies the observers of the state of the sync. A setter of a property need not call it for the dirty bit.
    final func syncStateDidChange() { stateDidChange(\.repairs) }

    /// Removes the repairs of a property that is set.
    final func removeRepairs(of property: AnyProperty) {
        guard tracking.repairs.contains(where: { $0.key == property.key }) else { return }
        tracking.repairs.removeAll { $0.key == property.key }
        syncStateDidChange()
    }
}

extension Tracking {
    /// The state of the sync, to find out whether a transaction changes it.
    struct SyncState {
        let members: SourceMembers?
        let repairs: [Repair]
        let rejections: [Violation]
        let dirty: ContiguousArray<DirtyProperty>
    }

    var syncState: SyncState {
        SyncState(members: members, repairs: repairs, rejections: rejections, dirty: dirty)
    }

    func hasSyncState(_ other: SyncState) -> Bool {
        repairs == other.repairs && rejections == other.rejections && members == other.members
            && dirty.elementsEqual(other.dirty) { $0.original === $1.original }
    }
}
