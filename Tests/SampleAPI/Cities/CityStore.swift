import Foundation

/// The cities in memory; changes last as long as the process.
actor CityStore {
    /// When the data counts as modified until someone changes it: 1 January 2026, the same in every run.
    private static let epoch = Date(timeIntervalSince1970: 1_767_225_600)

    /// Sorted by id.
    private var records: [CityRecord]
    private var lastModified = CityStore.epoch

    init(_ json: Data) throws {
        records = try JSONDecoder().decode([City].self, from: json)
            .map { CityRecord($0, modified: Self.epoch) }
            .sorted { $0.city.id < $1.city.id }
    }

    /// Both at once, or a change in between would give the old page a new date.
    func page(_ query: CityQuery) throws -> (page: CityPage, lastModified: Date) {
        let found = records.filter(query.filter.matches)
        let sorted = query.order.text == "id" ? found : found.sorted { query.order.precedes($0.position, $1.position) }
        return (try CityPage(sorted, query), lastModified)
    }

    /// Returns the cities behind an id, in the order of their ids.
    func cities(after id: Int, atMost count: Int) -> [City] {
        records.lazy.map(\.city).drop { $0.id <= id }.prefix(count).map(\.self)
    }

    func record(_ id: Int) throws(Problem) -> CityRecord {
        guard let index = index(of: id) else { throw .notFound("city \(id)") }
        return records[index]
    }

    func create(_ draft: CityDraft) throws -> CityRecord {
        let city = try draft.city(id: draft.id ?? nextID)
        guard index(of: city.id) == nil else { throw Problem(code: 409, detail: "City \(city.id) exists.") }
        return insert(city)
    }

    /// Writes a whole city under an id, new or not.
    func put(_ id: Int, _ draft: CityDraft, _ conditions: Preconditions) throws -> (record: CityRecord, isNew: Bool) {
        let city = try draft.city(id: id)
        guard let index = index(of: id) else {
            try conditions.allowWrite(to: nil)
            return (insert(city), true)
        }
        try conditions.allowWrite(to: tag(at: index))
        return (replace(index, with: city), false)
    }

    func patch(_ id: Int, _ changes: CityChanges, _ conditions: Preconditions) throws -> CityRecord {
        let index = try existing(id)
        try conditions.allowWrite(to: tag(at: index))
        return replace(index, with: try changes.applied(to: records[index].city))
    }

    func delete(_ id: Int, _ conditions: Preconditions) throws {
        let index = try existing(id)
        try conditions.allowWrite(to: tag(at: index))
        records.remove(at: index)
        touch()
    }

    private var nextID: Int {
        (records.last?.city.id ?? 0) + 1
    }

    private func index(of id: Int) -> Int? {
        records.firstIndex { $0.city.id == id }
    }

    private func existing(_ id: Int) throws(Problem) -> Int {
        guard let index = index(of: id) else { throw .notFound("city \(id)") }
        return index
    }

    private func tag(at index: Int) throws -> EntityTag {
        EntityTag(of: try JSON.encode(records[index].city))
    }

    private func insert(_ city: City) -> CityRecord {
        let record = touched(city)
        let place = records.firstIndex { $0.city.id > city.id } ?? records.endIndex
        records.insert(record, at: place)
        return record
    }

    private func replace(_ index: Int, with city: City) -> CityRecord {
        records[index] = touched(city)
        return records[index]
    }

    private func touched(_ city: City) -> CityRecord {
        touch()
        return CityRecord(city, modified: lastModified)
    }

    /// In whole seconds, because `Last-Modified` has no smaller ones and comes back in `If-Modified-Since`.
    private func touch() {
        lastModified = Date(timeIntervalSince1970: Date.now.timeIntervalSince1970.rounded(.down))
    }
}
