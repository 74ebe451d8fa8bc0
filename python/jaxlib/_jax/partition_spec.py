"""Partitions of a PartitionSpec in canonical form."""

_unconstrained = None


def set_pspec_unconstrained(value, /):
    global _unconstrained
    _unconstrained = value


def canonicalize_partition(partition):
    """Returns None for an empty partition, the name for a list of one, tuples for lists."""
    if not partition:
        return None
    if partition is _unconstrained or not isinstance(partition, (tuple, list)):
        return partition
    for p in partition:
        if isinstance(p, (tuple, list)):
            raise ValueError(
                "A tuple inside PartitionSpec cannot contain a nested tuple. "
                f"Got partition: {partition} and the nested tuple: {p}"
            )
    if len(partition) == 1:
        return partition[0]
    return partition if isinstance(partition, tuple) else tuple(partition)


def canonicalize_partitions(partitions):
    return tuple([canonicalize_partition(p) for p in partitions])
