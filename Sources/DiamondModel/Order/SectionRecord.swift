/// A section of a collection.
final class SectionRecord {
    let key: String
    private(set) lazy var rows = RowList(of: self)
    /// The index at the last commit; `nil` for a new section.
    var oldIndex: Int?
    /// The current index; with ``CollectionCore/hasOtherSections`` only while a change set is made.
    var index = 0

    init(key: String) { self.key = key }
}
