package import Foundation

/// The questions of an operator, which `cachectl` asks. The storages of this package answer them.
package protocol ReplayStorageInspection: ReplayStorage {
    /// Returns the effects that a claim would have now, and changes nothing.
    func claimPreview(_ limit: Int, of identities: ReplaySelection.Identities) async throws(ReplayError)
        -> ReplayQueue.ClaimPreview

    /// Returns the damage of jobs, and contradictions between records. Reads all jobs.
    func check() async throws(ReplayError) -> [ReplayFinding]

    /// Returns the count of each verb in each hour since a date, the oldest first.
    func history(since date: Date) throws(ReplayError) -> [ReplayQueue.HourlyCount]
}

extension ReplayStorage {
    /// The storage that answers an operator's questions: this one, or the one that it wraps.
    ///
    /// - Throws: ``ReplayError`` if it is a driver of another package.
    package var inspection: any ReplayStorageInspection {
        get throws(ReplayError) {
            if let wrapper = self as? any ReplayStorageWrapper { return try wrapper.base.inspection }
            guard let storage = self as? any ReplayStorageInspection else {
                throw ReplayError(.other, "\(name) cannot be inspected: its driver is not one of Diamond's")
            }
            return storage
        }
    }
}
