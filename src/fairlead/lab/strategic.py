"""Strategic merge patch: lists with a merge key are merged by it, as the types' tags say."""

from __future__ import annotations

from typing import Any

from fairlead.lab.objects import Object
from fairlead.lab.schema import Field, Type, schema
from fairlead.lab.status import bad_request, failure

ORDER = "$setElementOrder/"
DROP = "$deleteFromPrimitiveList/"
RETAIN = "$retainKeys"
DIRECTIVE = "$patch"
UNTYPED = Field("", "any")


def strategic_merge(value: Object, patch: Object, fields: Type | None) -> Object:
    """`value` as `patch` makes it; neither is changed."""
    directive = patch.get(DIRECTIVE)
    if directive == "replace":
        return {key: each for key, each in patch.items() if key != DIRECTIVE}
    if directive == "delete":
        return {}
    if directive not in (None, "merge"):
        raise bad_request(f"Unknown patch type: {directive}")
    result = dict(value)
    if RETAIN in patch:
        result = {key: each for key, each in result.items() if key in patch[RETAIN]}
    for key in patch:
        if key.startswith(DROP):
            name = key.removeprefix(DROP)
            kept = [each for each in result.get(name) or [] if each not in patch[key]]
            result[name] = kept
    for key, change in patch.items():
        if key.startswith("$"):
            continue
        field = (fields or {}).get(key, UNTYPED)
        if change is None:
            result.pop(key, None)
        else:
            result[key] = _merged(result.get(key), change, field, patch.get(ORDER + key))
    return _orders_alone(result, patch, fields)


def _orders_alone(result: Object, patch: Object, fields: Type | None) -> Object:
    """Apply an element order that comes without a change of its list."""
    for key, order in patch.items():
        name = key.removeprefix(ORDER)
        if name != key and name not in patch and isinstance(result.get(name), list):
            field = (fields or {}).get(name, UNTYPED)
            result[name] = _ordered(result[name], result[name], order, field.merge_key)
    return result


def _merged(old: Any, change: Any, field: Field, order: list[Any] | None) -> Any:
    if isinstance(change, dict):
        before = old if isinstance(old, dict) else {}
        if field.strategy == "replace" and field.shape == "":
            return _clean(change)
        if field.shape == "{}":
            return {
                key: _clean(each)
                for key, each in (before | change).items()
                if each is not None and not key.startswith("$")
            }
        return strategic_merge(before, change, schema().types.get(field.element))
    if isinstance(change, list):
        before = old if isinstance(old, list) else []
        if "merge" not in field.strategy.split(","):
            return [_clean(each) for each in change]
        if not field.merge_key:
            merged = before + [each for each in change if each not in before]
        else:
            merged = _merged_by_key(before, change, field)
        return merged if order is None else _ordered(merged, before, order, field.merge_key)
    return change


def _merged_by_key(old: list[Any], change: list[Any], field: Field) -> list[Any]:
    key = field.merge_key
    fields = schema().types.get(field.element)
    if any(isinstance(each, dict) and each.get(DIRECTIVE) == "replace" for each in change):
        return [_clean(each) for each in change if each.get(DIRECTIVE) != "replace"]
    result = list(old)
    for item in change:
        if not isinstance(item, dict):
            raise bad_request("expected a list of objects")
        if key not in item:
            raise failure(500, "", f"map: {item} does not contain declared merge key: {key}")
        spots = [i for i, each in enumerate(result) if each.get(key) == item[key]]
        if item.get(DIRECTIVE) == "delete":
            result = [each for each in result if each.get(key) != item[key]]
        elif spots:
            result[spots[0]] = strategic_merge(result[spots[0]], item, fields)
        else:
            result.append(strategic_merge({}, item, fields))
    return result


def _ordered(items: list[Any], before: list[Any], order: list[Any], key: str) -> list[Any]:
    """Items that `order` names in that order, the others where they stood among them."""

    def name(item: Any) -> Any:
        return item.get(key) if key else item

    wanted = [name(each) if isinstance(each, dict) else each for each in order]
    stood = [name(each) for each in before]
    named = sorted(
        (each for each in items if name(each) in wanted), key=lambda each: wanted.index(name(each))
    )
    others = [each for each in items if name(each) not in wanted]
    result: list[Any] = []
    for item in named:
        while others and name(item) in stood:
            if name(others[0]) not in stood:
                break
            if stood.index(name(others[0])) > stood.index(name(item)):
                break
            result.append(others.pop(0))
        result.append(item)
    return result + others


def _clean(value: Any) -> Any:
    """A new value without directives and nulls."""
    if isinstance(value, dict):
        return {
            key: _clean(each)
            for key, each in value.items()
            if each is not None and not key.startswith("$")
        }
    if isinstance(value, list):
        return [_clean(each) for each in value]
    return value
